// Answers a GET with so many bytes, and a POST with what arrived: `java Echo.java PORT`.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.security.MessageDigest;
import java.util.concurrent.Executors;

class Echo {
  public static void main(String[] args) throws Exception {
    byte[] pattern = new byte[1 << 20];
    for (int i = 0; i < pattern.length; i++) pattern[i] = (byte) (i * 31 + (i >> 8));
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 1024);
    server.setExecutor(Executors.newFixedThreadPool(16));
    server.createContext("/", exchange -> {
      byte[] body = exchange.getRequestBody().readAllBytes();
      String query = String.valueOf(exchange.getRequestURI().getRawQuery());
      try {
        if (exchange.getRequestMethod().equals("POST")) {
          StringBuilder sha256 = new StringBuilder();
          for (byte each : MessageDigest.getInstance("SHA-256").digest(body)) sha256.append(String.format("%02x", each));
          String probe = exchange.getRequestHeaders().getFirst("X-Probe");
          String said = String.join(" ", "POST", exchange.getRequestURI().toString(), "" + body.length, sha256, probe);
          exchange.sendResponseHeaders(200, said.length());
          exchange.getResponseBody().write(said.getBytes());
        } else {
          int bytes = query.startsWith("bytes=") ? Integer.parseInt(query.split("[=&]")[1]) : 2;
          boolean plain = query.endsWith("&plain");
          exchange.sendResponseHeaders(200, plain ? 0 : bytes == 0 ? -1 : bytes);
          if (plain || bytes > 0) exchange.getResponseBody().write(pattern, 0, bytes);
        }
      } catch (java.security.NoSuchAlgorithmException e) {
        throw new RuntimeException(e);
      }
      exchange.close();
    });
    server.start();
  }
}
