//! Trace and span ids, derived from turn and effect ids so that a replay or a recovering process produces the same ids.

use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The trace id of a turn: the turn id without dashes, so that each can be found by the other.
pub fn trace_id(turn: &str) -> TraceId {
    let parsed = Uuid::parse_str(turn).ok().filter(|it| !it.is_nil());
    TraceId::from_bytes(parsed.map_or_else(|| digest_prefix(turn), Uuid::into_bytes))
}

/// The span id of a turn (from its id) or of an effect (from its key `turn/effect`).
pub fn span_id(key: &str) -> SpanId {
    SpanId::from_bytes(digest_prefix(key))
}

/// The turn id in an effect key.
pub fn turn_id(key: &str) -> &str {
    key.rsplit_once('/').map_or(key, |it| it.0)
}

/// The `traceparent` header that makes a service's spans children of the effect's span (W3C Trace Context).
pub fn traceparent(key: &str) -> String {
    format!("00-{}-{}-01", trace_id(turn_id(key)), span_id(key))
}

/// Parses the caller's span from a `traceparent` header.
pub fn parse_traceparent(header: &str) -> Option<SpanContext> {
    let mut parts = header.trim().split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |id: &str, length: usize| id.len() == length && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    // Later versions may have more parts; version 00 may not.
    let fits = is_hex(version, 2) && version != "ff" && is_hex(trace, 32) && is_hex(span, 16) && is_hex(flags, 2);
    if !fits || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()? & 1);
    let context = SpanContext::new(TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?, flags, true, TraceState::NONE);
    context.is_valid().then_some(context)
}

fn digest_prefix<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.iter_mut().zip(Sha256::digest(text.as_bytes())).for_each(|(to, from)| *to = from);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: &str = "0b0f4a3e-6f0a-4f0e-9a53-6d3f0c1b2a01";

    #[test]
    fn a_turn_has_the_same_ids_wherever_it_runs() {
        assert_eq!(trace_id(TURN).to_string(), TURN.replace('-', ""));
        // Pinned: other processes and versions must derive the same ids.
        assert_eq!(span_id(TURN).to_string(), "098ef3d03429ac4b");
        assert_eq!(span_id(&format!("{TURN}/3")).to_string(), "afc50b6125c86a35");
        assert_eq!(traceparent(&format!("{TURN}/3")), format!("00-{}-afc50b6125c86a35-01", TURN.replace('-', "")));
        assert_ne!(span_id(&format!("{TURN}/3")), span_id(&format!("{TURN}/4")));
        assert_eq!(trace_id("t-1"), trace_id("t-1"));
        assert_ne!(trace_id("t-1"), trace_id("t-2"));
        assert_ne!(trace_id("00000000-0000-0000-0000-000000000000"), TraceId::INVALID);
    }

    #[test]
    fn a_caller_is_read_from_a_complete_header() {
        let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let span = parse_traceparent(header).expect("a span");
        assert_eq!((span.trace_id().to_string(), span.is_remote(), span.is_sampled()), (header[3..35].to_owned(), true, true));
        assert!(parse_traceparent(&format!("cc{}-more", &header[2..])).is_some(), "later versions may have more parts");
        for broken in ["", "00", &header[..54], &header.to_uppercase(), &format!("{header}-more"), &format!("ff{}", &header[2..])] {
            assert_eq!(parse_traceparent(broken), None, "{broken}");
        }
        assert_eq!(parse_traceparent("00-00000000000000000000000000000000-00f067aa0ba902b7-01"), None);
    }
}
