//! Hides the passwords and tokens of addresses before they are shown: in logs, errors and the output of commands.
//!
//! Addresses are often shown because they are wrong, so they are not parsed by the rules: where a text may be a secret, it is hidden.

/// What stands for a hidden value.
const HIDDEN: &str = "[redacted]";

/// Parts of the names of secret parameters.
const SECRET_PARTS: [&str; 9] = ["pass", "pwd", "token", "secret", "credential", "signature", "authorization", "session", "jwt"];

/// How words of the names of secret parameters end.
const SECRET_ENDINGS: [&str; 3] = ["key", "keys", "auth"];

/// Words of the names of secret parameters.
const SECRET_WORDS: [&str; 5] = ["sig", "hmac", "otp", "sid", "pw"];

/// The name of a secret parameter, which is also a word of others, such as `country_code`.
const CODE: &str = "code";

/// The delimiters of parameters.
const DELIMITERS: [char; 5] = ['?', '&', ';', '#', ' '];

/// Schemes of addresses without a user, in which `@` means something else.
const SCHEMES_WITHOUT_USER: [&str; 3] = ["sqlite", "file", "mailto"];

/// Schemes that are recognized without `//`.
const SCHEMES_WITH_USER: [&str; 12] =
    ["postgres", "postgresql", "mysql", "mariadb", "mongodb", "redis", "rediss", "amqp", "amqps", "http", "https", "jdbc"];

/// Returns an address without the password of its user and without the values of parameters that look secret.
pub fn redact_url(url: &str) -> String {
    hide_values(&hide_password(url))
}

fn hide_password(url: &str) -> String {
    let (scheme, rest) = split_scheme(url);
    let name = scheme.trim_end_matches([':', '/']).to_ascii_lowercase();
    let Some(end) = find_user_end(rest).filter(|_| !SCHEMES_WITHOUT_USER.contains(&name.as_str())) else { return url.to_owned() };
    let (credentials, host) = rest.split_at(end);
    // Web services take tokens for names.
    let is_web = ["http", "https"].contains(&name.as_str());
    let user = if is_web { HIDDEN } else { credentials.split([':', '/', '?', '#', ';']).next().unwrap_or_default() };
    format!("{scheme}{user}{host}")
}

/// Splits an address behind its scheme, which is empty if there is none.
fn split_scheme(url: &str) -> (&str, &str) {
    let is_scheme = |text: &str| text.chars().all(|character| character.is_ascii_alphanumeric() || "+-.:".contains(character));
    if let Some((scheme, _)) = url.split_once("://").filter(|it| is_scheme(it.0)) {
        return url.split_at(scheme.len() + "://".len());
    }
    let is_known = |scheme: &str| SCHEMES_WITH_USER.iter().chain(&SCHEMES_WITHOUT_USER).any(|known| known.eq_ignore_ascii_case(scheme));
    match url.split_once(':') {
        Some((scheme, rest)) if is_known(scheme) => url.split_at(url.len() - rest.trim_start_matches('/').len()),
        Some(_) | None => ("", url),
    }
}

/// Finds the `@` behind the user and the password.
fn find_user_end(rest: &str) -> Option<usize> {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // Without a password, `@` behind the authority is that of a path or a parameter.
    let Some((_, port)) = authority.split_once(':') else { return authority.rfind('@') };
    let is_host = !authority.contains('@') && (authority.starts_with('[') || port.bytes().all(|it| it.is_ascii_digit()));
    // A password may contain what ends an authority elsewhere.
    let in_front_of_query = rest.split_at(find_query(rest)).0.rfind('@');
    in_front_of_query.or_else(|| rest.rfind('@').filter(|_| !is_host))
}

/// Finds the first `?` that a parameter follows, or the end.
fn find_query(rest: &str) -> usize {
    let has_name = |parameter: &str| parameter.split_once('=').is_some_and(|member| is_name(member.0));
    let mut marks = rest.match_indices('?').map(|it| it.0);
    marks.find(|mark| rest.get(mark + 1..).is_some_and(has_name)).unwrap_or(rest.len())
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|character| character.is_alphanumeric() || "_-.[]%+$".contains(character))
}

/// Hides the values of secret parameters. A value ends at `&` and `#`, and at other delimiters if a parameter follows.
fn hide_values(url: &str) -> String {
    let (mut shown, mut delimiter, mut is_hidden) = (String::new(), "", false);
    for part in url.split_inclusive(DELIMITERS) {
        let (text, next) = part.split_at(part.trim_end_matches(DELIMITERS).len());
        let name = text.split_once('=').map(|it| it.0);
        let is_rest_of_value = is_hidden && !["&", "#"].contains(&delimiter) && !name.is_some_and(is_name);
        if !is_rest_of_value {
            shown.push_str(delimiter);
            let secret = name.filter(|it| is_secret(it));
            shown.push_str(&secret.map_or_else(|| text.to_owned(), |it| format!("{it}={HIDDEN}")));
            is_hidden = secret.is_some();
        }
        delimiter = next;
    }
    shown + delimiter
}

/// Whether the value of a parameter is secret. The name may have a path in front of it.
fn is_secret(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let mut words = name.split(|it: char| !it.is_alphanumeric());
    name == CODE
        || SECRET_PARTS.iter().any(|it| name.contains(it))
        || words.any(|word| SECRET_WORDS.contains(&word) || SECRET_ENDINGS.iter().any(|ending| word.ends_with(ending)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_tokens_are_hidden() {
        for (url, shown) in [
            ("postgres://ada:hunter2@db/shop?sslmode=require", "postgres://ada@db/shop?sslmode=require"),
            ("postgres://ada:hun/ter?2@db/shop", "postgres://ada@db/shop"),
            ("postgres://ada:hun?ter=2@db/shop", "postgres://ada@db/shop"),
            ("postgres://ada:hun@ter/2@db/shop?sslmode=require", "postgres://ada@db/shop?sslmode=require"),
            ("postgres://ada:12/34@db/shop", "postgres://ada@db/shop"),
            ("postgres://ada;hunter2:x@db/shop", "postgres://ada@db/shop"),
            ("postgres://db/shop?user=ada&password=hunter2", "postgres://db/shop?user=ada&password=[redacted]"),
            (
                "postgres://ada@db/shop?PassWord=hunter2&sslmode=require&sslpassword=hunter2",
                "postgres://ada@db/shop?PassWord=[redacted]&sslmode=require&sslpassword=[redacted]",
            ),
            ("postgres://db/shop?password=hun@ter2", "postgres://db/shop?password=[redacted]"),
            ("postgres://db:5432/shop?password=hun@ter2", "postgres://db:5432/shop?password=[redacted]"),
            ("postgres://[::1]:5432/shop?password=hun@ter2", "postgres://[::1]:5432/shop?password=[redacted]"),
            ("postgres://ada:hunter2@db/shop?password=hun@ter2", "postgres://ada@db/shop?password=[redacted]"),
            ("postgres://db/shop?password=hun;ter2&sslmode=require", "postgres://db/shop?password=[redacted]&sslmode=require"),
            ("postgres://db/shop?password=hun?ter 2", "postgres://db/shop?password=[redacted]"),
            ("redis://:hunter2@cache/0", "redis://@cache/0"),
            ("https://id.example/keys?access_token=hunter2#x", "https://id.example/keys?access_token=[redacted]#x"),
            ("https://id.example/keys#access_token=hunter2&state=1", "https://id.example/keys#access_token=[redacted]&state=1"),
            ("https://id.example/keys?api-key=hunter2;page=1", "https://id.example/keys?api-key=[redacted];page=1"),
            ("https://id.example/keys?page=1;token=hunter2;sort=a", "https://id.example/keys?page=1;token=[redacted];sort=a"),
            ("https://id.example/keys;token=hunter2/x?page=1", "https://id.example/keys;token=[redacted]?page=1"),
            ("https://hunter2@id.example/keys", "https://[redacted]@id.example/keys"),
            ("https://ada:hunter2@id.example/keys", "https://[redacted]@id.example/keys"),
        ] {
            assert_eq!(redact_url(url), shown);
            assert_eq!(redact_url(shown), shown, "what is hidden stays so");
        }
    }

    #[test]
    fn passwords_are_hidden_in_addresses_that_are_written_wrongly() {
        for (url, shown) in [
            ("postgres:ada:hunter2@db/shop", "postgres:ada@db/shop"),
            ("postgres:/ada:hunter2@db/shop", "postgres:/ada@db/shop"),
            ("POSTGRES:ada:hun:ter@2@db/shop", "POSTGRES:ada@db/shop"),
            ("https:ada:hunter2@id.example", "https:[redacted]@id.example"),
            ("ada:hunter2@db/shop", "ada@db/shop"),
            ("oracle:ada:hunter2@db/shop", "oracle@db/shop"),
            ("jdbc:postgresql://ada:hunter2@db/shop", "jdbc:postgresql://ada@db/shop"),
            ("jdbc:oracle:thin:ada/hunter2@db:1521:shop", "jdbc:oracle@db:1521:shop"),
            (
                "jdbc:sqlserver://db;user=ada;password=hunter2;database=shop",
                "jdbc:sqlserver://db;user=ada;password=[redacted];database=shop",
            ),
            ("host=db user=ada password=hunter2 dbname=shop", "host=db user=ada password=[redacted] dbname=shop"),
        ] {
            assert_eq!(redact_url(url), shown);
        }
    }

    #[test]
    fn parameters_of_webhooks_that_are_secret_are_hidden_and_others_are_not() {
        for secret in [
            "code",
            "Code",
            "token",
            "sig",
            "signature",
            "X-Amz-Signature",
            "X-Amz-Credential",
            "hub.verify_token",
            "key",
            "apiKey",
            "x-functions-key",
            "SharedAccessKey",
            "auth",
            "oauth",
            "authorization",
            "client_secret",
            "pwd",
            "pw",
            "passphrase",
            "jwt",
            "session_id",
            "sid",
            "otp",
            "hmac",
        ] {
            let shown = redact_url(&format!("https://hooks.example/in?page=1&{secret}=hunter2&sort=a"));
            assert_eq!(shown, format!("https://hooks.example/in?page=1&{secret}=[redacted]&sort=a"));
        }
        for other in [
            "page",
            "country_code",
            "zip-code",
            "statuscode",
            "encoding",
            "design",
            "signal",
            "author",
            "authority",
            "keyword",
            "keyspace",
            "sslmode",
            "user",
            "q",
            "side",
            "state",
        ] {
            let url = format!("https://hooks.example/in?{other}=hunter2&sort=a");
            assert_eq!(redact_url(&url), url);
        }
    }

    #[test]
    fn an_address_without_a_secret_is_shown_as_it_is() {
        for url in [
            "sqlite:shop.db?mode=ro",
            "sqlite:shop@home.db",
            "sqlite:///var/a:b@c.db?mode=ro",
            "file:shop@home.db",
            "mailto:ada@shop.example",
            "postgres://ada@db/shop",
            "postgres:ada@db/shop",
            "postgres://db:5432/shop?options=a@b",
            "https://id.example/keys?page=1",
            "https://id.example/@ada/keys",
            "https://id.example/keys?to=ada@shop.example;page=1",
            "https://id.example:8443/keys?to=ada@shop.example",
            "worker:9080",
            "[::1]:9080",
            "shop.db",
            "shop@home.db",
            "",
            "?",
            "a?b&c;d#e f",
        ] {
            assert_eq!(redact_url(url), url);
        }
    }
}
