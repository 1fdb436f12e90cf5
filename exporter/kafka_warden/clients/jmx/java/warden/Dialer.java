package warden;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.rmi.server.RMISocketFactory;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/**
 * Opens every socket of this JVM: to the host that was configured, within the time limit, and to no other host.
 *
 * <p>RMI has no connect time limit on JDK 17. A server's stub names the host and port of the next connection, so a
 * rogue JMX port could send the client, and its password, to any host.
 */
public final class Dialer extends RMISocketFactory {
    private static final Map<Long, String> HOSTS = new ConcurrentHashMap<>();

    private final int millis;
    private final PemTls tls;

    /** `tls` is null for plain sockets. With it, the certificate must name the host. */
    public Dialer(int millis, PemTls tls) {
        this.millis = millis;
        this.tls = tls;
    }

    /** Allow the calling thread to connect to this host only. */
    public static void enter(String host) {
        HOSTS.put(Thread.currentThread().getId(), host);
    }

    /** The calling thread connects to no host any more. */
    public static void leave() {
        HOSTS.remove(Thread.currentThread().getId());
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        String own = HOSTS.get(Thread.currentThread().getId());
        // RMI's own threads renew leases: they may connect to the host of any thread.
        Set<String> allowed = own == null ? new TreeSet<>(HOSTS.values()) : Set.of(own);
        InetAddress[] wanted = InetAddress.getAllByName(host);
        for (String name : allowed) {
            List<InetAddress> permitted = Arrays.asList(InetAddress.getAllByName(name));
            InetAddress[] reachable = Arrays.stream(wanted).filter(permitted::contains).toArray(InetAddress[]::new);
            if (reachable.length > 0) {
                return connect(name, reachable, port);
            }
        }
        throw new ProtocolException("the JMX port of " + String.join(", ", allowed) + " points to " + host + ":" + port
            + ", which is another host, and is not followed: start that process with -Djava.rmi.server.hostname set to"
            + " the name under which kafka-warden connects to it");
    }

    @Override
    public ServerSocket createServerSocket(int port) throws IOException {
        throw new IOException("this JVM serves nothing");
    }

    private Socket connect(String name, InetAddress[] addresses, int port) throws IOException {
        IOException failed = null;
        for (InetAddress address : addresses) {
            Socket socket = new LimitedSocket();
            try {
                return secured(name, connected(socket, address, port), port);
            } catch (IOException | RuntimeException error) {
                socket.close();
                failed = error instanceof IOException ? (IOException) error : new IOException(error);
            }
        }
        throw failed;
    }

    private Socket connected(Socket socket, InetAddress address, int port) throws IOException {
        try {
            socket.connect(new InetSocketAddress(address, port), millis);
        } catch (SocketTimeoutException late) {
            throw new SocketTimeoutException("connect timed out: " + address.getHostAddress() + ":" + port);
        }
        socket.setSoTimeout(millis);
        socket.setTcpNoDelay(true);
        return socket;
    }

    private Socket secured(String name, Socket plain, int port) throws IOException {
        if (tls == null) {
            return plain;
        }
        SSLSocket socket;
        try {
            socket = (SSLSocket) tls.context().getSocketFactory().createSocket(plain, name, port, true);
        } catch (GeneralSecurityException error) {
            throw new SSLException(error.getMessage(), error);
        }
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        socket.setSSLParameters(parameters);
        socket.startHandshake();
        return socket;
    }
}
