//! What a plan counts: sessions and imports by the month, and what models cost. (`convoship.md` 12.2, 12.3)

use axum::http::{StatusCode, Uri};
use convengine_core::turn::Millis;

use crate::clock;
use crate::drive::Host;
use crate::http::error::ApiError;
use crate::store::assistant::session;

/// Millionths of a cent in a cent.
pub const MICROCENTS: u64 = 1_000_000;

/// Milliseconds of a day.
const DAY: Millis = 86_400_000;

/// How much may be used in a month; nothing for as much as one likes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Plan {
    /// Sessions of deployments.
    pub sessions: Option<u32>,
    /// Documents put or imported.
    pub imports: Option<u32>,
}

/// Whether something more may be used of a kind.
///
/// # Errors
/// A refusal when the month's share is used up, or when the database cannot be read.
pub async fn allows(host: &Host, kind: &'static str, most: Option<u32>, uri: &Uri) -> Result<(), ApiError> {
    let Some(most) = most else { return Ok(()) };
    let now = clock::now();
    let used = session::used(&host.readers, &host.workspace, kind, month(now), None).await;
    if used.map_err(|it| ApiError::of_database(&it, uri))? < i64::from(most) {
        return Ok(());
    }
    let message = format!("the plan has {most} of the kind '{kind}' a month, and they are used up");
    let refused = ApiError::new(StatusCode::TOO_MANY_REQUESTS, uri, message).coded("rate_limited");
    let wait = u64::try_from(next_month(now) - now).unwrap_or(0) / 1000;
    Err(refused.limited(&format!("{kind}s"), most, wait))
}

/// When the month of a moment began, in UTC.
pub fn month(at: Millis) -> Millis {
    let days = at.div_euclid(DAY);
    let day_of_month = clock::iso_text(at).get(8..10).and_then(|it| it.parse::<Millis>().ok()).unwrap_or(1);
    (days - day_of_month + 1) * DAY
}

fn next_month(at: Millis) -> Millis {
    // No month has more days, and the first days of the next one are in it.
    month(month(at) + 32 * DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_begins_at_its_first_midnight() {
        let at = |text: &str| clock::parse(text).expect("a time");
        for (moment, first, next) in [
            ("2026-11-23T12:43:11Z", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"),
            ("2026-12-31T23:59:59Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            ("2028-02-29T00:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"),
        ] {
            assert_eq!((month(at(moment)), next_month(at(moment))), (at(first), at(next)), "{moment}");
        }
    }
}
