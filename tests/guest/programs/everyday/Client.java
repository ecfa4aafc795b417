// SPDX-License-Identifier: GPL-2.0-or-later
// A page, and a datagram to each address: java Client.java URL ADDRESS...
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.URL;

public class Client {
    public static void main(String[] arguments) throws Exception {
        try (var page = new URL(arguments[0]).openStream()) {
            page.transferTo(System.out);
        }
        byte[] data = "datagram".getBytes();
        try (var socket = new DatagramSocket()) {
            for (int i = 1; i < arguments.length; i++) {
                InetAddress to = InetAddress.getByName(arguments[i]);
                socket.send(new DatagramPacket(data, data.length, to, 7));
                DatagramPacket answer = new DatagramPacket(new byte[100], 100);
                socket.receive(answer);
                System.out.println(new String(answer.getData(), 0, answer.getLength()));
            }
        }
    }
}
