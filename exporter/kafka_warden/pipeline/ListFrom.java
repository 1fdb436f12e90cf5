package kafka_warden;

import io.delta.storage.S3SingleDriverLogStore;
import io.delta.storage.internal.S3LogStoreUtil;
import java.io.IOException;
import java.util.Iterator;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.S3AFileSystem;

/**
 * Delta's log store for S3, but a log is listed from the wanted entry on. Delta's own always lists all entries.
 * Its setting for that, enableFastS3AListFrom, also changes how VACUUM lists a table, and VACUUM then deletes the log.
 */
public final class ListFrom extends S3SingleDriverLogStore {
    public ListFrom(Configuration hadoopConf) {
        super(hadoopConf);
    }

    public Iterator<FileStatus> listFrom(Path path, Configuration hadoopConf) throws IOException {
        FileSystem system = path.getFileSystem(hadoopConf);
        Path first = system.makeQualified(path);
        Path log = first.getParent();
        if (!(system instanceof S3AFileSystem) || !log.getName().equals("_delta_log")) {
            return super.listFrom(path, hadoopConf);
        }
        TreeMap<String, FileStatus> found = new TreeMap<String, FileStatus>();
        for (FileStatus each : S3LogStoreUtil.s3ListFromArray(system, first, log)) {
            // What is in nested folders is listed, too.
            if (each.getPath().getParent().equals(log) && each.getPath().getName().compareTo(first.getName()) >= 0) {
                found.put(each.getPath().getName(), each);
            }
        }
        // It also knows whether there is a log.
        return found.isEmpty() ? super.listFrom(path, hadoopConf) : found.values().iterator();
    }
}
