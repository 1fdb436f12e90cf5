package warden;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import javax.net.ssl.SSLSocketFactory;

/**
 * Hands the connections of SslRMIClientSocketFactory, which a server's stub brings along, to a dialer: named by the
 * security property ssl.SocketFactory.provider, it is what SSLSocketFactory.getDefault() returns.
 */
public final class TlsSockets extends SSLSocketFactory {
    public static volatile Dialer dialer;

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return dialer.createSocket(host, port);
    }

    @Override
    public Socket createSocket(InetAddress host, int port) throws IOException {
        return dialer.createSocket(host.getHostAddress(), port);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress from, int fromPort) throws IOException {
        return dialer.createSocket(host, port);
    }

    @Override
    public Socket createSocket(InetAddress host, int port, InetAddress from, int fromPort) throws IOException {
        return dialer.createSocket(host.getHostAddress(), port);
    }

    @Override
    public Socket createSocket(Socket under, String host, int port, boolean autoClose) throws IOException {
        throw new IOException("connections are made by the dialer");
    }

    @Override
    public String[] getDefaultCipherSuites() {
        return new String[0];
    }

    @Override
    public String[] getSupportedCipherSuites() {
        return new String[0];
    }
}
