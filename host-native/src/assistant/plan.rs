//! What a plan counts: sessions and imports by the month, and what models cost. (`convoship.md` 12.2, 12.3)

use axum::http::{StatusCode, Uri};
use convengine_core::turn::Millis;

use crate::clock;
use crate::drive::{Host, Refusal};
use crate::http::error::ApiError;
use crate::store::assistant::session::{self, Reserved};

/// Millionths of a cent in a cent.
pub const MICROCENTS: u64 = 1_000_000;

/// Milliseconds of a day.
const DAY: Millis = 86_400_000;

/// How much may be used in a month; nothing for as much as one likes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Plan {
    /// Sessions of deployments.
    pub sessions: Option<u32>,
    /// Documents imported.
    pub imports: Option<u32>,
}

/// A session that the plan counts before its first turn runs.
#[derive(Debug)]
pub struct Reservation(i64);

impl Reservation {
    /// Takes one of the month's sessions, for an assistant.
    ///
    /// # Errors
    /// [`Refusal::UsedUp`], or that the database does not answer.
    pub async fn take(host: &Host, assistant: &str) -> Result<Reservation, Refusal> {
        let at = clock::now();
        let most = host.plan.sessions.map_or(i64::MAX, i64::from);
        let reserved = Reserved { workspace: &host.workspace, assistant, at, since: month(at), most };
        let number = session::reserve(&host.readers, &reserved).await?;
        number.map(Reservation).ok_or(Refusal::UsedUp(host.plan.sessions.unwrap_or(0)))
    }

    /// Gives it back when nothing of the session is stored; one whose turn somebody else finishes stays counted.
    pub async fn give_back(self, host: &Host, session: &str) {
        if let Err(error) = session::give_back(&host.readers, self.0, session).await {
            tracing::warn!(%error, session, "a session that did not begin stays counted");
        }
    }
}

/// What a client gets when the sessions of the month are used up.
pub fn used_up(refusal: &Refusal, most: u32, uri: &Uri) -> ApiError {
    let now = clock::now();
    let wait = u64::try_from(next_month(now) - now).unwrap_or(0) / 1000;
    ApiError::new(StatusCode::TOO_MANY_REQUESTS, uri, refusal.to_string()).coded("rate_limited").limited("sessions", most, wait)
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
