//! The cap on model cost: each call reserves its estimated cost, which is corrected when the actual cost is known. The costs of a day are
//! recorded without a cap as well, so that one that is set later counts them.

use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, Millis, Reply, Usage};
use convengine_effects::llm::{ModelAnswer, SCRIPTED};
use convengine_host_base::clock;
use convengine_settings::SpendCap;
use convengine_settings::spend_cap::{SpendPeriod, utc_day};
use convengine_storage::assistant::session;
use convengine_storage::counter::{self, CounterKey, Increment};
use convengine_storage::spend;

use crate::Content;
use crate::plan::{day_start, month_start};

/// Microcents, which usage events have, per millionth of a currency unit.
const MICROCENTS_PER_MICRO: i64 = 100;

/// The reserved cost of a call, in millionths of a currency unit. A call that ends without a known cost, or whose turn is cancelled, is
/// charged what was reserved.
#[derive(Debug)]
pub struct SpendReservation {
    /// The counter of the cap, if there is one.
    counter: Option<CounterKey>,
    micros: u64,
    /// The day of the reservation: the cost belongs to it, so that it is in the sum that the counter stands for.
    day: String,
}

/// Reserves the estimated cost of a model call. The call that reaches the cap is still made, because an estimate is higher than the cost.
///
/// # Errors
/// Returns an error for the turn when the cap is reached or the spend cannot be read.
pub async fn reserve(content: &Content, estimate: u64) -> Result<SpendReservation, EffectError> {
    let now = clock::now();
    let reservation = |counter| SpendReservation { counter, micros: estimate, day: utc_day(now) };
    let Some(SpendCap { micros: cap, per }) = content.spend_cap else { return Ok(reservation(None)) };
    let counter = counter_key(content, per, now);
    let increment = Increment { amount: clamp(estimate), fitting: 0, limit: clamp(cap) };
    let reserved = counter::reserve(&content.readers, &counter, increment, sum_recorded(content, per, now)).await;
    if reserved.map_err(|it| unreadable(&it))? {
        return Ok(reservation(Some(counter)));
    }
    Err(cap_reached(per))
}

/// Makes the counter of the cap include what was spent while there was no cap.
pub async fn count_recorded(content: &Content) -> sqlx::Result<()> {
    let Some(SpendCap { per, .. }) = content.spend_cap else { return Ok(()) };
    let now = clock::now();
    let recorded = sum_recorded(content, per, now).await?;
    counter::raise(&content.readers, &counter_key(content, per, now), recorded).await
}

/// Returns what is used of the cap in this day or month, in millionths of a currency unit.
pub async fn find_used(content: &Content, per: SpendPeriod) -> sqlx::Result<i64> {
    let now = clock::now();
    if let Some(used) = counter::find(&content.readers, &counter_key(content, per, now)).await? {
        return Ok(used);
    }
    sum_recorded(content, per, now).await
}

/// Returns what is recorded of a day or month, in millionths of a currency unit.
async fn sum_recorded(content: &Content, per: SpendPeriod, now: Millis) -> sqlx::Result<i64> {
    let (first, last) = per.date_range(now);
    let spent = spend::sum_between(&content.readers, &first, &last).await.map(clamp)?;
    // What documents cost was recorded before all costs were.
    let CounterKey { workspace, period, .. } = counter_key(content, per, now);
    let microcents = session::sum_usage(&content.readers, &workspace, "llm", period, None).await?;
    Ok(spent.max(microcents / MICROCENTS_PER_MICRO))
}

fn cap_reached(per: SpendPeriod) -> EffectError {
    let message = format!("spend cap of the {} reached; model call refused (convengine.llm.spend-cap)", per.name());
    EffectError::new(EffectErrorKind::Limited, message)
}

/// Replaces the reserved cost of a call with its actual cost, and records it.
pub async fn settle(content: &Content, reserved: SpendReservation, answer: &ModelAnswer) {
    let charged = charged_micros(answer, reserved.micros);
    if let Err(error) = correct(content, &reserved, charged).await {
        tracing::warn!(%error, "cannot record the model spend; the estimate stays");
    }
}

async fn correct(content: &Content, reserved: &SpendReservation, charged: u64) -> sqlx::Result<()> {
    let difference = clamp(charged) - clamp(reserved.micros);
    if let Some(counter) = reserved.counter.as_ref().filter(|_| difference != 0) {
        counter::adjust(&content.readers, counter, difference).await?;
    }
    if charged > 0 {
        spend::add(&content.readers, &reserved.day, clamp(charged)).await?;
    }
    Ok(())
}

fn counter_key(content: &Content, per: SpendPeriod, now: Millis) -> CounterKey {
    let (kind, period) = match per {
        SpendPeriod::Day => ("spend.day", day_start(now)),
        SpendPeriod::Month => ("spend.month", month_start(now)),
    };
    CounterKey { workspace: content.workspace.clone(), kind, reference: String::new(), period }
}

/// Returns the error for the turn when the spend cannot be read.
pub fn unreadable(error: &sqlx::Error) -> EffectError {
    tracing::error!(%error, "cannot read the model spend");
    EffectError::new(EffectErrorKind::Unavailable, "what was spent on models cannot be read; model call refused")
}

/// Returns what a call is charged in millionths of a currency unit: the cost of its answer, and the estimate for an answer without a known
/// cost and for each failed attempt that may be billed.
pub fn charged_micros(answer: &ModelAnswer, estimate: u64) -> u64 {
    let is_unknown = match &answer.result {
        EffectResult::Ok(Reply::Llm(reply)) => reply.provider != SCRIPTED && has_no_cost(reply.usage),
        // Without a price, as for a script, the estimate is 0.
        EffectResult::Ok(Reply::Embed(reply)) => has_no_cost(reply.usage),
        EffectResult::Ok(_) | EffectResult::Error(_) => false,
    };
    let estimated = u64::from(answer.billed_attempts) + u64::from(is_unknown);
    estimate.saturating_mul(estimated).saturating_add(cost_micros(&answer.result))
}

fn has_no_cost(usage: Option<Usage>) -> bool {
    usage.and_then(|it| it.cost_micros).is_none()
}

/// Returns the cost of the model calls of an answer in millionths of a currency unit.
pub fn cost_micros(answer: &EffectResult) -> u64 {
    let usage = match answer {
        EffectResult::Ok(Reply::Llm(reply)) => reply.usage,
        EffectResult::Ok(Reply::Embed(reply)) => reply.usage,
        EffectResult::Ok(Reply::Knowledge(reply)) => reply.usage,
        EffectResult::Ok(Reply::PhraseSearch(reply)) => reply.usage,
        EffectResult::Ok(_) | EffectResult::Error(_) => None,
    };
    usage.and_then(|it| it.cost_micros).unwrap_or(0)
}

fn clamp(micros: u64) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use convengine_core::turn::{EmbedReply, LlmReply};

    use super::*;

    #[test]
    fn each_attempt_of_unknown_usage_is_charged_its_estimate() {
        let usage = Some(Usage { input_tokens: 1, output_tokens: 1, cost_micros: Some(3) });
        let reply = LlmReply { usage, ..LlmReply::default() };
        let unknown = EffectResult::Ok(Reply::Llm(LlmReply { usage: None, ..reply.clone() }));
        let scripted = EffectResult::Ok(Reply::Llm(LlmReply { usage: None, provider: SCRIPTED.to_owned(), ..reply.clone() }));
        let answered = EffectResult::Ok(Reply::Llm(reply));
        let failed = EffectResult::Error(EffectError::new(EffectErrorKind::Unavailable, "no"));
        for (result, billed_attempts, charged) in
            [(&answered, 0, 3), (&answered, 2, 21), (&failed, 0, 0), (&failed, 1, 9), (&unknown, 0, 9), (&scripted, 1, 9)]
        {
            assert_eq!(charged_micros(&ModelAnswer { result: result.clone(), billed_attempts }, 9), charged);
        }
    }

    #[test]
    fn embeddings_are_charged_what_they_report_or_their_estimate() {
        let usage = |cost_micros| Some(Usage { input_tokens: 1, output_tokens: 0, cost_micros });
        for (usage, charged) in [(usage(Some(3)), 3), (usage(None), 9), (None, 9)] {
            let result = EffectResult::Ok(Reply::Embed(EmbedReply { vectors: Vec::new(), usage }));
            assert_eq!(charged_micros(&ModelAnswer { result, billed_attempts: 0 }, 9), charged);
        }
    }
}
