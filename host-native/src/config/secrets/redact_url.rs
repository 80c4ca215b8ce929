//! Hides the passwords and tokens of addresses before they are shown: in logs, errors and the output of commands.

/// What stands for a hidden value.
const HIDDEN: &str = "[redacted]";

/// The parts of the names of parameters whose values are secret.
const SECRET_NAMES: [&str; 8] = ["pass", "pwd", "token", "secret", "key", "auth", "sig", "credential"];

/// Returns an address without the password of its user and without the values of parameters that look secret.
pub fn redact_url(url: &str) -> String {
    hide_values(&hide_password(url))
}

fn hide_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    match rest.rsplit_once('@') {
        // A password may contain what ends an authority elsewhere.
        Some((before, host)) => format!("{scheme}://{}@{host}", before.split([':', '/', '?', '#']).next().unwrap_or_default()),
        None => url.to_owned(),
    }
}

fn hide_values(url: &str) -> String {
    url.split_inclusive(['?', '&', ';', '#']).map(hide_value).collect()
}

/// Hides the value of `name=value`, which may have the delimiter of the next parameter at its end.
fn hide_value(part: &str) -> String {
    let Some((name, value)) = part.split_once('=') else { return part.to_owned() };
    let lower = name.to_ascii_lowercase();
    if !SECRET_NAMES.iter().any(|it| lower.contains(it)) {
        return part.to_owned();
    }
    let delimiter = value.get(value.trim_end_matches(['?', '&', ';', '#']).len()..).unwrap_or_default();
    format!("{name}={HIDDEN}{delimiter}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_tokens_are_hidden() {
        for (url, shown) in [
            ("postgres://ada:hunter2@db/shop?sslmode=require", "postgres://ada@db/shop?sslmode=require"),
            ("postgres://ada:hun/ter?2@db/shop", "postgres://ada@db/shop"),
            ("postgres://db/shop?user=ada&password=hunter2", "postgres://db/shop?user=ada&password=[redacted]"),
            (
                "postgres://ada@db/shop?PassWord=hunter2&sslmode=require&sslpassword=hunter2",
                "postgres://ada@db/shop?PassWord=[redacted]&sslmode=require&sslpassword=[redacted]",
            ),
            ("postgres://db/shop?password=hun@ter2", "postgres://db@ter2"),
            ("redis://:hunter2@cache/0", "redis://@cache/0"),
            ("https://id.example/keys?access_token=hunter2#x", "https://id.example/keys?access_token=[redacted]#x"),
            ("https://id.example/keys?api-key=hunter2;page=1", "https://id.example/keys?api-key=[redacted];page=1"),
            ("sqlite:shop.db?mode=ro", "sqlite:shop.db?mode=ro"),
            ("https://id.example/keys?page=1", "https://id.example/keys?page=1"),
            ("shop.db", "shop.db"),
        ] {
            assert_eq!(redact_url(url), shown);
        }
    }
}
