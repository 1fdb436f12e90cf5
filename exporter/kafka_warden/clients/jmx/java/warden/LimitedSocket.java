package warden;

import java.io.FilterInputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ProtocolException;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A socket that ends a reply that is too large. It begins to count at each write.
 *
 * <p>`maxbytes` of a serial filter is no such limit: the filter is not asked about a text, which is read whole.
 */
final class LimitedSocket extends Socket {
    /** Bytes of a reply. The names of 40,000 clients are some 4 MB, and in memory a reply has several times its size. */
    static final long MAX_REPLY = 4 << 20;

    private final AtomicLong received = new AtomicLong();

    @Override
    public InputStream getInputStream() throws IOException {
        return new FilterInputStream(super.getInputStream()) {
            @Override
            public int read() throws IOException {
                int read = in.read();
                count(1);
                return read;
            }

            @Override
            public int read(byte[] into, int offset, int length) throws IOException {
                int read = in.read(into, offset, length);
                count(read);
                return read;
            }
        };
    }

    @Override
    public OutputStream getOutputStream() throws IOException {
        return new FilterOutputStream(super.getOutputStream()) {
            @Override
            public void write(int one) throws IOException {
                received.set(0);
                out.write(one);
            }

            @Override
            public void write(byte[] from, int offset, int length) throws IOException {
                received.set(0);
                out.write(from, offset, length);
            }
        };
    }

    private void count(int read) throws IOException {
        if (received.addAndGet(read) > MAX_REPLY) {
            close();
            throw new ProtocolException("a reply of the JMX port of " + getInetAddress().getHostAddress() + ":"
                + getPort() + " is larger than " + MAX_REPLY + " bytes, and is not read: what listens there?");
        }
    }
}
