// Posts with java.net.http. For each line "COUNT URL" it sends so many at once, on one client, and prints a line: of
// each a version and a status, or what failed.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.CompletableFuture;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

public class Posts {
    public static void main(String[] args) throws Exception {
        var trusting = SSLContext.getInstance("TLS");
        trusting.init(null, new TrustManager[] {new Trusting()}, null);
        var client = HttpClient.newBuilder().sslContext(trusting).build();
        var tasks = new BufferedReader(new InputStreamReader(System.in));
        for (String task; (task = tasks.readLine()) != null; ) {
            var url = URI.create(task.split(" ")[1]);
            var post = HttpRequest.newBuilder(url)
                .POST(HttpRequest.BodyPublishers.ofString("{}")).timeout(Duration.ofSeconds(60)).build();
            var outcomes = new ArrayList<CompletableFuture<String>>();
            for (int n = Integer.parseInt(task.split(" ")[0]); n > 0; n--)
                outcomes.add(client.sendAsync(post, HttpResponse.BodyHandlers.ofString())
                    .handle((response, error) -> error == null ? response.version() + " " + response.statusCode() : error.toString()));
            var line = new ArrayList<String>();
            for (var outcome : outcomes) line.add(outcome.get().replace('\n', ' '));
            System.out.println(String.join("\t", line));
        }
    }

    static class Trusting extends X509ExtendedTrustManager {
        public void checkClientTrusted(X509Certificate[] chain, String type) {}
        public void checkServerTrusted(X509Certificate[] chain, String type) {}
        public void checkClientTrusted(X509Certificate[] chain, String type, java.net.Socket socket) {}
        public void checkServerTrusted(X509Certificate[] chain, String type, java.net.Socket socket) {}
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}
        public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; }
    }
}
