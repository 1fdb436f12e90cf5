package warden;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.rmi.server.RMIClientSocketFactory;
import java.rmi.server.RMISocketFactory;

/** Hands RMI's plain connections to a dialer. RMI wants an abstract class here, and JPype can only implement interfaces. */
public final class PlainSockets extends RMISocketFactory {
    private final RMIClientSocketFactory dialer;

    public PlainSockets(RMIClientSocketFactory dialer) {
        this.dialer = dialer;
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return dialer.createSocket(host, port);
    }

    @Override
    public ServerSocket createServerSocket(int port) throws IOException {
        throw new IOException("this JVM serves nothing");
    }
}
