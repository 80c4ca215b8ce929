//! The `Retry-After` header of HTTP services.

use std::time::SystemTime;

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Returns the delay in milliseconds that `Retry-After` asks for; the header holds seconds or a date.
pub(super) fn parse_retry_after(headers: &HeaderMap, now: SystemTime) -> Option<u64> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        let ms = (seconds * 1000.0).ceil();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
        return (0.0..1e15).contains(&ms).then_some(ms as u64);
    }
    let until = httpdate::parse_http_date(text).ok()?.duration_since(now).unwrap_or_default();
    u64::try_from(until.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn seconds_and_dates_are_read() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let parse = |text: &str| parse_retry_after(&HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]), now);
        for (text, wait) in [
            ("7", Some(7000)),
            (" 1.5 ", Some(1500)),
            ("0", Some(0)),
            ("-3", None),
            ("1e99", None),
            ("soon", None),
            ("Sun, 06 Nov 1994 08:49:40 GMT", Some(3000)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
        ] {
            assert_eq!(parse(text), wait, "{text}");
        }
        assert_eq!(parse_retry_after(&HeaderMap::new(), now), None);
    }
}
