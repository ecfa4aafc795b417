// SPDX-License-Identifier: GPL-2.0-or-later
// A server without an address: Java listens on [::].
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;

public class Server {
    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(8002), 0);
        server.createContext("/", exchange -> {
            String peer = exchange.getRemoteAddress().getAddress().getHostAddress();
            byte[] text = ("java for " + peer + "\n").getBytes();
            exchange.sendResponseHeaders(200, text.length);
            exchange.getResponseBody().write(text);
            exchange.close();
        });
        server.start();
    }
}
