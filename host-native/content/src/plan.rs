//! Quotas of a plan: sessions and imports per month. (docs/spec/flows.md#12.2, docs/spec/flows.md#12.3)

use axum::http::StatusCode;
use axum::response::Response;
use convengine_access::api_error::ApiError;
use convengine_access::rate::RateStatus;
use convengine_core::config::flow::document::FlowSettings;
use convengine_core::turn::Millis;
use convengine_host_base::clock;
use convengine_storage::assistant::session;
use convengine_storage::counter::{self, CounterKey};
use serde_json::Value;

use crate::Content;

/// Microcents per cent.
pub const MICROCENTS_PER_CENT: u64 = 1_000_000;

/// Milliseconds per day.
const DAY_MS: Millis = 86_400_000;

/// Returns the quota of sessions and how much of it is used this month; `None` without one.
pub async fn find_session_quota(content: &Content) -> sqlx::Result<Option<UsedQuota>> {
    let Some(limit) = content.plan.sessions else { return Ok(None) };
    let (pool, workspace, period) = (&content.readers, &content.workspace, month_start(clock::now()));
    let counter = CounterKey { workspace: workspace.clone(), kind: "session", reference: String::new(), period };
    let used = match counter::find(pool, &counter).await? {
        Some(used) => used,
        None => session::sum_usage(pool, workspace, "session", period, None).await?,
    };
    Ok(Some(UsedQuota { limit, used }))
}

/// Returns the quota of imports and how much of it is used this month; `None` without one.
pub async fn find_import_quota(content: &Content) -> sqlx::Result<Option<UsedQuota>> {
    let Some(limit) = content.plan.imports else { return Ok(None) };
    let used = session::sum_usage(&content.readers, &content.workspace, "import", month_start(clock::now()), None).await?;
    Ok(Some(UsedQuota { limit, used }))
}

/// A monthly quota and how much of it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedQuota {
    /// The quota.
    pub limit: u32,
    /// What is used.
    pub used: i64,
}

/// Writes a quota into the rate limit headers of an answer to a call that counts against it.
pub fn write_headers(found: sqlx::Result<Option<UsedQuota>>, answer: &mut Result<Response, ApiError>) {
    let UsedQuota { limit, used } = match found {
        Ok(Some(quota)) => quota,
        Ok(None) => return,
        Err(error) => return tracing::warn!(%error, "cannot read a quota for the headers of a response"),
    };
    let headers = match answer {
        Ok(response) => response.headers_mut(),
        Err(error) => error.headers_mut(),
    };
    RateStatus::of_quota(limit, used, seconds_to_next_month(clock::now())).write_headers(headers);
}

/// Returns the HTTP error for an exceeded monthly quota, with its scope.
pub fn quota_exceeded_error(message: String, scope: &str, most: u32) -> ApiError {
    let wait = seconds_to_next_month(clock::now());
    ApiError::with_status(StatusCode::TOO_MANY_REQUESTS, message).with_code("rate_limited").with_limit(scope, most, wait)
}

/// What models may cost a document, in cents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DocumentCaps {
    /// In a month, for all documents but AI agents.
    pub monthly_cents: Option<u64>,
    /// In a day, for an AI agent.
    pub daily_cents: Option<u64>,
}

impl DocumentCaps {
    /// Reads the caps of a document that compiles.
    pub fn from_settings(settings: &FlowSettings) -> DocumentCaps {
        DocumentCaps { monthly_cents: settings.monthly_llm_spend_cap_cents, daily_cents: settings.daily_spend_cap_cents }
    }

    /// Reads the caps of a draft, which need not compile.
    pub fn from_draft(draft: &Value) -> DocumentCaps {
        let cents = |path: &str| draft.pointer(path).and_then(Value::as_u64);
        DocumentCaps { monthly_cents: cents("/settings/monthly_llm_spend_cap_cents"), daily_cents: cents("/daily_spend_cap_cents") }
    }
}

/// Returns what models may cost a document in microcents, and since when: this month, or this day for an AI agent, in UTC.
pub fn spend_cap(caps: DocumentCaps, now: Millis) -> Option<(u64, Millis)> {
    let monthly = caps.monthly_cents.map(|it| (it, month_start(now)));
    let (cents, start) = monthly.or_else(|| caps.daily_cents.map(|it| (it, day_start(now))))?;
    Some((cents.saturating_mul(MICROCENTS_PER_CENT), start))
}

/// Returns the start of the day of a time, in UTC.
pub fn day_start(at: Millis) -> Millis {
    at - at.rem_euclid(DAY_MS)
}

/// Returns the start of the month of a time, in UTC.
pub fn month_start(at: Millis) -> Millis {
    let days = at.div_euclid(DAY_MS);
    let day_of_month = clock::format_iso(at).get(8..10).and_then(|digits| digits.parse::<Millis>().ok()).unwrap_or(1);
    (days - day_of_month + 1) * DAY_MS
}

fn seconds_to_next_month(now: Millis) -> u64 {
    u64::try_from(next_month_start(now) - now).unwrap_or(0) / 1000
}

fn next_month_start(at: Millis) -> Millis {
    // 32 days after the start of a month is always within the next month.
    month_start(month_start(at) + 32 * DAY_MS)
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
            assert_eq!((month_start(at(moment)), next_month_start(at(moment))), (at(first), at(next)), "{moment}");
        }
    }
}
