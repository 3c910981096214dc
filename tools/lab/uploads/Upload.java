// Uploads FILE to URLs with java.net.http: Upload.java VERSION FILE COUNT AT_ONCE URL... Prints a line for each: a status, or what failed.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.concurrent.Executors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

public class Upload {
    public static void main(String[] args) throws Exception {
        var version = HttpClient.Version.valueOf(args[0]);
        var path = Path.of(args[1]);
        var count = Integer.parseInt(args[2]);
        var trusting = SSLContext.getInstance("TLS");
        trusting.init(null, new TrustManager[] {new Trusting()}, null);
        var pool = Executors.newFixedThreadPool(Integer.parseInt(args[3]));
        for (int n = 0; n < count; n++) {
            var url = URI.create(args[4 + n % (args.length - 4)]);
            pool.submit(() -> {
                String line;
                try {
                    // A client each: a connection that is shared would carry several uploads.
                    var client = HttpClient.newBuilder().version(version).sslContext(trusting).build();
                    var request = HttpRequest.newBuilder(url).POST(HttpRequest.BodyPublishers.ofFile(path)).build();
                    line = "" + client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
                } catch (Exception error) {
                    line = error.toString().replace('\n', ' ');
                }
                System.out.println(line);
            });
        }
        pool.shutdown();
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
