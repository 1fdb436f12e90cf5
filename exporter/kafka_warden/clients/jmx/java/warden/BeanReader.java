package warden;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.rmi.registry.LocateRegistry;
import java.rmi.server.RMIClientSocketFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javax.management.Attribute;
import javax.management.JMException;
import javax.management.JMRuntimeException;
import javax.management.ObjectName;
import javax.management.remote.rmi.RMIConnection;
import javax.management.remote.rmi.RMIServer;

/**
 * An authenticated session with the MBean server of one process.
 *
 * <p>No method throws: each Java exception that reaches Python leaks 20 kB in JPype 1.7.1, so failures are returned.
 * Used by one thread.
 */
public final class BeanReader {
    private static final int MAX_CAUSES = 10;
    /** Characters of a text or a message that are kept. Kafka's beans have no longer value. */
    private static final int MAX_TEXT = 1000;

    private final Set<String> registered = new HashSet<>();
    private RMIConnection remote;

    /** Connect and log in. Return null, or the failure as {@link #chain} has it. */
    public String[] connect(String host, int port, RMIClientSocketFactory registrySockets, String[] credentials) {
        try {
            RMIServer server = (RMIServer) LocateRegistry.getRegistry(host, port, registrySockets).lookup("jmxrmi");
            remote = server.newClient(credentials);
            return null;
        } catch (Throwable error) {
            return chain(error);
        }
    }

    /** End the session in the process, too; for a session that works, since the call may hang otherwise. */
    public void close() {
        try {
            remote.close();
        } catch (IOException | RuntimeException error) {
            return; // the process ends the session later
        }
    }

    /** Read one bean per name and every bean of each pattern, within `millis` in all. */
    public Reading read(
        String[] names, String[][] attributes, String[] patterns, String[][] rowAttributes, int maxRows, long millis) {
        Reading reading = new Reading();
        long start = System.nanoTime();
        try {
            for (int i = 0; i < names.length; i++) {
                checkTime(start, millis);
                if (isThere(names[i])) {
                    readBean(reading.beans, names[i], attributes[i]);
                }
            }
            for (int i = 0; i < patterns.length; i++) {
                List<Object> rows = new ArrayList<>();
                reading.rows.add(rows);
                String[] matching = matching(patterns[i]);
                reading.leftOut += Math.max(0, matching.length - maxRows);
                for (int row = 0; row < Math.min(matching.length, maxRows); row++) {
                    checkTime(start, millis);
                    readBean(rows, matching[row], rowAttributes[i]);
                }
            }
        } catch (Throwable error) {
            reading.failure = chain(error);
        }
        return reading;
    }

    private static void checkTime(long start, long millis) throws SocketTimeoutException {
        if (System.nanoTime() - start > millis * 1_000_000) {
            throw new SocketTimeoutException("reading took longer than " + millis + " ms");
        }
    }

    private String[] matching(String pattern) throws JMException, IOException {
        return remote.queryNames(new ObjectName(pattern), null, null).stream()
            .map(ObjectName::toString)
            .sorted()
            .toArray(String[]::new);
    }

    private boolean isThere(String name) throws JMException, IOException {
        if (!registered.contains(name) && remote.isRegistered(new ObjectName(name), null)) {
            registered.add(name);
        }
        return registered.contains(name);
    }

    /** Absent beans, absent attributes, those that fail in the process and those without a scalar are left out. */
    private void readBean(List<Object> rows, String name, String[] attributes) throws IOException {
        List<Object> row = new ArrayList<>();
        List<String> asked = Arrays.asList(attributes);
        try {
            for (Object each : remote.getAttributes(new ObjectName(name), attributes, null)) {
                Attribute attribute = (Attribute) each;
                if (row.size() < 2 * attributes.length && asked.contains(attribute.getName()) && isScalar(attribute)) {
                    row.add(attribute.getName());
                    row.add(withoutDouble(attribute.getValue()));
                }
            }
        } catch (JMException | JMRuntimeException error) {
            registered.remove(name);
            return;
        }
        if (!row.isEmpty()) {
            row.add(0, name);
            rows.add(row.toArray());
        }
    }

    private static boolean isScalar(Attribute attribute) {
        Object value = attribute.getValue();
        boolean text = value instanceof String && ((String) value).length() <= MAX_TEXT;
        return text || value instanceof Number || value instanceof Boolean;
    }

    /**
     * A floating-point number as a StringBuilder, which no server can send: JPype 1.7.1 leaks a Python float, 24 bytes,
     * for each Double that Python reads. Other values stay as they are.
     */
    private static Object withoutDouble(Object value) {
        boolean floating = value instanceof Double || value instanceof Float;
        return floating ? new StringBuilder(Double.toString(((Number) value).doubleValue())) : value;
    }

    /** Class name and message of an exception and of its causes, one after the other, the outermost first. */
    private static String[] chain(Throwable error) {
        List<String> found = new ArrayList<>();
        for (Throwable each = error; each != null && found.size() < 2 * MAX_CAUSES; each = each.getCause()) {
            found.add(each.getClass().getName());
            String message = each.getMessage() == null ? "" : each.getMessage();
            found.add(message.substring(0, Math.min(message.length(), MAX_TEXT)));
        }
        return found.toArray(new String[0]);
    }

    /** A row is the name of a bean, then its attributes: name, value, name, value. */
    public static final class Reading {
        /** Beans that were asked for by name. */
        public final List<Object> beans = new ArrayList<>();
        /** Beans that matched, by pattern, sorted by name. */
        public final List<List<Object>> rows = new ArrayList<>();
        /** Beans that matched a pattern and were not read, because there were too many. */
        public int leftOut;
        /** Null, or the failure as class names and messages in turn. */
        public String[] failure;
    }
}
