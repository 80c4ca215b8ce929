//! Checks that every external call was requested by a turn's journal, and that exactly the effects in doubt were interrupted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result};
use convengine_core::config::Config;
use convengine_core::turn::{Completion, Effect, EffectErrorKind, EffectResult, NoticeBody, Request, Slice, Turn};
use convengine_player::fake_http::RecordedCall;
use convengine_storage::turn::{StoredTurn, decompress, find_open, list_effects};
use convengine_storage::{Pool, config};

use crate::simulate::fault::has_side_effects;

/// A turn id and the number of one of its effects.
pub type EffectRef = (String, u32);

/// An effect of a stored turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEffect {
    /// The effect.
    pub effect: EffectRef,
    /// Its idempotency key, which all attempts share.
    pub key: String,
    /// Whether it has side effects and must not be repeated when it is in doubt.
    pub non_repeatable: bool,
    /// Whether it is a call of a service that has side effects.
    pub is_call: bool,
    /// Whether it completed as interrupted because its answer was lost.
    pub interrupted: bool,
}

/// Replays a turn's journal; returns its effects and the number of its audit rows.
///
/// # Errors
/// If the journal cannot be replayed.
pub async fn replay_effects(pool: &Pool, stored: &StoredTurn) -> Result<(Vec<JournalEffect>, usize)> {
    let source = config::find_snapshot(pool, &stored.config_hash).await?.context("the turn's configuration is not stored")?;
    replay_effects_on(Arc::new(Config::from_source(&source).0), stored)
}

/// Like [`replay_effects`], on the turn's configuration.
///
/// # Errors
/// If the journal cannot be replayed.
pub fn replay_effects_on(config: Arc<Config>, stored: &StoredTurn) -> Result<(Vec<JournalEffect>, usize)> {
    let journal = decompress(&stored.journal)?;
    let (mut turn, slice) = Turn::start(journal.input, config)?;
    let (mut open, mut found, mut rows) = (BTreeMap::new(), Vec::new(), 0);
    let mut take = |slice: Slice, open: &mut BTreeMap<u32, Effect>| {
        rows += slice.notices.iter().filter(|notice| matches!(notice.body, NoticeBody::Audit { .. })).count();
        open.extend(slice.effects.into_iter().map(|effect| (effect.id.0, effect)));
    };
    take(slice, &mut open);
    for entry in journal.entries {
        let effect = open.remove(&entry.effect.0).context("the journal answers an effect that was not requested")?;
        found.push(JournalEffect {
            effect: (stored.turn_id.clone(), effect.id.0),
            non_repeatable: has_side_effects(&effect) && !effect.repeatable,
            is_call: matches!(effect.request, Request::Http(_)) && has_side_effects(&effect),
            key: sent_key(effect.key, &effect.request),
            interrupted: matches!(&entry.outcome, EffectResult::Error(error) if error.kind == EffectErrorKind::Interrupted),
        });
        take(turn.resume(vec![Completion { id: entry.effect, at: entry.at, outcome: entry.outcome }])?, &mut open);
    }
    Ok((found, rows))
}

/// The idempotency key that a call sends: its request may set another one than that of the effect.
fn sent_key(key: String, request: &Request) -> String {
    let Request::Http(request) = request else { return key };
    let own = request.headers.iter().find(|it| it.0.eq_ignore_ascii_case("idempotency-key"));
    own.map_or(key, |it| it.1.clone())
}

/// Returns the conversations, sessions and runs with an open turn.
///
/// # Errors
/// If the database cannot be read.
pub async fn find_open_conversations(pool: &Pool) -> Result<Vec<String>> {
    let sql = "select cast(conversation_id as text) from ce_turn where status = 'open'";
    Ok(match pool {
        Pool::Sqlite(pool, _) => sqlx::query_scalar(sql).fetch_all(&mut *pool.acquire().await?).await?,
        Pool::Postgres(pool, _) => sqlx::query_scalar(sql).fetch_all(&mut *pool.acquire().await?).await?,
    })
}

/// Returns the effects of open turns that were sent and have no stored answer.
///
/// # Errors
/// If the database cannot be read.
pub async fn find_unanswered(pool: &Pool, conversations: &BTreeSet<String>) -> Result<BTreeSet<EffectRef>> {
    let mut found = BTreeSet::new();
    for id in conversations {
        let Some(open) = find_open(pool, id).await? else { continue };
        let stored = list_effects(pool, &open.turn_id).await?;
        found.extend(stored.iter().filter(|it| it.entry.is_none()).map(|it| (open.turn_id.clone(), it.effect_id)));
    }
    Ok(found)
}

/// Returns the first invalid call, if any: one without an idempotency key, one that is in no journal, or one that was made more often
/// than it was requested. A repeatable effect may be called once more after a crash.
pub fn find_invalid_call(calls: &[RecordedCall], requested: &[JournalEffect]) -> Option<String> {
    let mut calls_by_key: BTreeMap<&str, (usize, &RecordedCall)> = BTreeMap::new();
    for call in calls.iter().filter(|it| it.method != "GET") {
        let Some(key) = &call.idempotency_key else { return Some(format!("{} {} has no key", call.method, call.path)) };
        calls_by_key.entry(key).or_insert((0, call)).0 += 1;
    }
    calls_by_key.into_iter().find_map(|(key, (count, call))| {
        let requested: Vec<&JournalEffect> = requested.iter().filter(|effect| effect.key == key).collect();
        let name = format!("{} {} {}", call.method, call.path, call.body);
        if requested.is_empty() {
            return Some(format!("{name} has the key '{key}', which is in no journal"));
        }
        let extra = usize::from(requested.iter().all(|effect| !effect.non_repeatable));
        (count > requested.len() + extra)
            .then(|| format!("{name} was made {count} times with the key '{key}', but requested {} times", requested.len()))
    })
}

/// Returns what is wrong with the interrupted effects: one that could have been repeated, or a difference to the effects in doubt.
pub fn find_invalid_interruption(requested: &[JournalEffect], unanswered: &BTreeSet<EffectRef>) -> Option<String> {
    let interrupted: Vec<&JournalEffect> = requested.iter().filter(|it| it.interrupted).collect();
    if let Some(repeatable) = interrupted.iter().find(|it| !it.non_repeatable) {
        return Some(format!("effect {} was interrupted, but could have been repeated", repeatable.effect.1));
    }
    let interrupted: BTreeSet<&EffectRef> = interrupted.into_iter().map(|it| &it.effect).collect();
    let doubtful: BTreeSet<&EffectRef> = unanswered.iter().collect();
    (interrupted != doubtful).then(|| format!("the effects {doubtful:?} were in doubt, but {interrupted:?} were interrupted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal_effect(key: &str, once: bool, interrupted: bool) -> JournalEffect {
        JournalEffect { effect: ("t".to_owned(), 3), key: key.to_owned(), non_repeatable: once, is_call: true, interrupted }
    }

    fn call(key: Option<&str>) -> RecordedCall {
        RecordedCall { method: "POST".to_owned(), path: "/pay".to_owned(), body: "{}".to_owned(), idempotency_key: key.map(str::to_owned) }
    }

    #[test]
    fn a_call_is_made_as_often_as_requested() {
        let wrong = |keys: &[Option<&str>], asked: &[JournalEffect]| {
            let calls: Vec<RecordedCall> = keys.iter().map(|key| call(*key)).collect();
            find_invalid_call(&calls, asked).unwrap_or_default()
        };
        let once = journal_effect("k", true, false);
        assert_eq!(wrong(&[Some("k")], std::slice::from_ref(&once)), "");
        assert!(wrong(&[Some("k"), Some("k")], std::slice::from_ref(&once)).contains("2 times"));
        assert_eq!(wrong(&[Some("k"), Some("k")], &[once.clone(), once.clone()]), "", "a retry of an effect that was not performed");
        assert_eq!(wrong(&[Some("k"), Some("k")], &[journal_effect("k", false, false)]), "", "a repeatable effect");
        assert!(wrong(&[Some("k"); 3], &[journal_effect("k", false, false)]).contains("3 times"));
        assert!(wrong(&[Some("other")], std::slice::from_ref(&once)).contains("in no journal"));
        assert!(wrong(&[None], &[once]).contains("no key"));
    }

    #[test]
    fn exactly_the_effects_in_doubt_are_interrupted() {
        let doubt = BTreeSet::from([("t".to_owned(), 3)]);
        assert_eq!(find_invalid_interruption(&[journal_effect("k", true, true)], &doubt), None);
        assert!(find_invalid_interruption(&[journal_effect("k", true, false)], &doubt).is_some(), "repeated");
        assert!(find_invalid_interruption(&[journal_effect("k", true, true)], &BTreeSet::new()).is_some(), "interrupted without a reason");
        assert!(find_invalid_interruption(&[journal_effect("k", false, true)], &doubt).is_some(), "it could have been repeated");
    }
}
