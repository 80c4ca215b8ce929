import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A task of a conversation, served over HTTP with nothing but the JDK 17.
 *
 * <p>Run it with {@code LIBRARY_KEY=a-long-secret java Task.java 9002}.
 */
public class Task {
    /** The answers by their idempotency keys. A service that must survive a restart keeps them in its database. */
    private static final Map<String, String> ANSWERS = new ConcurrentHashMap<>();

    private static final Pattern LOAN = Pattern.compile("\\d{1,9}");

    public static void main(String[] arguments) throws IOException {
        String key = System.getenv("LIBRARY_KEY");
        if (key == null) {
            throw new IllegalStateException("LIBRARY_KEY is not set");
        }
        int port = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 9002;
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.createContext("/renewals", exchange -> answer(exchange, "Bearer " + key));
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
        System.out.println("Renewals on http://127.0.0.1:" + server.getAddress().getPort());
    }

    private static void answer(HttpExchange exchange, String credentials) throws IOException {
        // The whole call is in it as well; what this task needs is in the query, because the JDK does not read JSON.
        exchange.getRequestBody().readAllBytes();
        String given = exchange.getRequestHeaders().getFirst("Authorization");
        String call = exchange.getRequestHeaders().getFirst("Idempotency-Key");
        String query = exchange.getRequestURI().getRawQuery();
        if (given == null || !MessageDigest.isEqual(given.getBytes(StandardCharsets.UTF_8), credentials.getBytes(StandardCharsets.UTF_8))) {
            send(exchange, 401, "{\"error\": \"the key is wrong\"}");
        } else if (call == null || query == null || !query.startsWith("text=")) {
            send(exchange, 400, "{\"error\": \"expected a text and a key\"}");
        } else {
            // The engine repeats a call with the key that it had: the loan is renewed once.
            String text = URLDecoder.decode(query.substring("text=".length()), StandardCharsets.UTF_8);
            send(exchange, 200, ANSWERS.computeIfAbsent(call, unused -> renew(text)));
        }
    }

    /** Renews the loan that a text names. The members of the answer change the conversation; without any, nothing changes. */
    private static String renew(String text) {
        Matcher loan = LOAN.matcher(text);
        if (!loan.find()) {
            return "{}";
        }
        System.out.println("renewed loan " + loan.group());
        return "{\"set_params\": {\"loan\": %d, \"days\": 28}, \"state\": \"RENEWED\"}".formatted(Integer.parseInt(loan.group()));
    }

    private static void send(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }
}
