// Asks with java.net.http. For each line "METHOD URL COUNT AT_ONCE FILE" it prints a line: of each request, with FILE
// as its body ("-": none), a status and the SHA-256 of the response's body, or what failed.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.cert.X509Certificate;
import java.util.*;
import java.util.concurrent.*;
import javax.net.ssl.*;

public class Client {
    public static void main(String[] args) throws Exception {
        var trusting = SSLContext.getInstance("TLS");
        trusting.init(null, new TrustManager[] {new Trusting()}, null);
        var client = HttpClient.newBuilder().sslContext(trusting).build();
        for (var tasks = new Scanner(System.in); tasks.hasNextLine(); ) {
            var task = tasks.nextLine().split(" ");
            var body = task[4].equals("-") ? BodyPublishers.noBody() : BodyPublishers.ofFile(Path.of(task[4]));
            var request = HttpRequest.newBuilder(URI.create(task[1])).method(task[0], body).build();
            var places = new Semaphore(Integer.parseInt(task[3]));
            var outcomes = new ArrayList<CompletableFuture<String>>();
            for (int n = Integer.parseInt(task[2]); n > 0; n--) {
                places.acquire();
                outcomes.add(client.sendAsync(request, BodyHandlers.ofByteArray()).handle((response, error) -> {
                    places.release();
                    return error != null ? error.toString() : response.statusCode() + " " + sha256(response.body());
                }));
            }
            System.out.println(String.join("\t", outcomes.stream().map(CompletableFuture::join).toList()));
        }
    }

    static String sha256(byte[] body) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(body));
        } catch (Exception error) {
            throw new RuntimeException(error);
        }
    }

    static class Trusting implements X509TrustManager {
        public void checkClientTrusted(X509Certificate[] chain, String type) {}
        public void checkServerTrusted(X509Certificate[] chain, String type) {}
        public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; }
    }
}
