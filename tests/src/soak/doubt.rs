//! What the turns of a database asked the world for, which of it nobody knows the fate of, and how often each of it was carried out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result};
use convengine_core::config::Config;
use convengine_core::turn::{Completion, Effect, EffectErrorKind, EffectResult, NoticeBody, Slice, Turn};
use convengine_server::play::fake_http::RecordedCall;
use convengine_server::store::turn::{StoredTurn, decompress, find_open, list_effects};
use convengine_server::store::{Pool, config};

use crate::simulate::fault::writes;

/// A turn and an effect of it.
pub type EffectOf = (String, u32);

/// An effect of a stored turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Which.
    pub effect: EffectOf,
    /// Its idempotency key; a later attempt has that of the first.
    pub key: String,
    /// Whether it changes the world and must not be asked again when nobody knows whether it did.
    pub once: bool,
    /// Whether it was given up because its answer was lost.
    pub interrupted: bool,
}

/// The effects of a turn by its journal, and how many rows it audits.
///
/// # Errors
/// When the journal cannot be replayed.
pub async fn asked(pool: &Pool, stored: &StoredTurn) -> Result<(Vec<Asked>, usize)> {
    let source = config::find_snapshot(pool, &stored.config_hash).await?.context("the turn's configuration is not stored")?;
    let journal = decompress(&stored.journal)?;
    let (mut turn, slice) = Turn::start(journal.input, Arc::new(Config::from_source(&source).0))?;
    let (mut open, mut found, mut rows) = (BTreeMap::new(), Vec::new(), 0);
    let mut take = |slice: Slice, open: &mut BTreeMap<u32, Effect>| {
        rows += slice.notices.iter().filter(|it| matches!(it.body, NoticeBody::Audit { .. })).count();
        open.extend(slice.effects.into_iter().map(|it| (it.id.0, it)));
    };
    take(slice, &mut open);
    for entry in journal.entries {
        let effect = open.remove(&entry.effect.0).context("the journal answers what was not asked")?;
        found.push(Asked {
            effect: (stored.turn_id.clone(), effect.id.0),
            once: writes(&effect) && !effect.repeatable,
            key: effect.key,
            interrupted: matches!(&entry.outcome, EffectResult::Error(error) if error.kind == EffectErrorKind::Interrupted),
        });
        take(turn.resume(vec![Completion { id: entry.effect, at: entry.at, outcome: entry.outcome }])?, &mut open);
    }
    Ok((found, rows))
}

/// Effects of open turns that have left and whose answer is not stored.
///
/// # Errors
/// When the database cannot be read.
pub async fn unanswered(pool: &Pool, conversations: &BTreeSet<String>) -> Result<BTreeSet<EffectOf>> {
    let mut found = BTreeSet::new();
    for id in conversations {
        let Some(open) = find_open(pool, id).await? else { continue };
        let stored = list_effects(pool, &open.turn_id).await?;
        found.extend(stored.iter().filter(|it| it.entry.is_none()).map(|it| (open.turn_id.clone(), it.effect_id)));
    }
    Ok(found)
}

/// What of the calls is wrong: one without a key, one that no journal knows, or one that was made more often than was asked. What may be
/// asked again after a crash may have been made once more.
pub fn wrong_call(calls: &[RecordedCall], asked: &[Asked]) -> Option<String> {
    let mut made: BTreeMap<&str, (usize, &RecordedCall)> = BTreeMap::new();
    for call in calls.iter().filter(|it| it.method != "GET") {
        let Some(key) = &call.idempotency_key else { return Some(format!("{} {} had no key", call.method, call.path)) };
        made.entry(key).or_insert((0, call)).0 += 1;
    }
    made.into_iter().find_map(|(key, (count, call))| {
        let asked: Vec<&Asked> = asked.iter().filter(|it| it.key == key).collect();
        let name = format!("{} {} {}", call.method, call.path, call.body);
        if asked.is_empty() {
            return Some(format!("{name} was made under the key '{key}', which is in no journal"));
        }
        let again = usize::from(asked.iter().all(|it| !it.once));
        (count > asked.len() + again)
            .then(|| format!("{name} was made {count} times under the key '{key}', and asked {} times", asked.len()))
    })
}

/// What is wrong with what was given up: something that could have been asked again, or something that was in doubt and was not.
pub fn wrong_doubt(asked: &[Asked], unanswered: &BTreeSet<EffectOf>) -> Option<String> {
    let given_up: Vec<&Asked> = asked.iter().filter(|it| it.interrupted).collect();
    if let Some(it) = given_up.iter().find(|it| !it.once) {
        return Some(format!("effect {} is given up, and could have been asked again", it.effect.1));
    }
    let given_up: BTreeSet<&EffectOf> = given_up.into_iter().map(|it| &it.effect).collect();
    let doubtful: BTreeSet<&EffectOf> = unanswered.iter().collect();
    (given_up != doubtful).then(|| format!("in doubt were the effects {doubtful:?}, and given up were {given_up:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(key: &str, once: bool, interrupted: bool) -> Asked {
        Asked { effect: ("t".to_owned(), 3), key: key.to_owned(), once, interrupted }
    }

    fn call(key: Option<&str>) -> RecordedCall {
        RecordedCall { method: "POST".to_owned(), path: "/pay".to_owned(), body: "{}".to_owned(), idempotency_key: key.map(str::to_owned) }
    }

    #[test]
    fn a_call_is_made_as_often_as_it_is_asked() {
        let wrong = |keys: &[Option<&str>], asked: &[Asked]| {
            let calls: Vec<RecordedCall> = keys.iter().map(|it| call(*it)).collect();
            wrong_call(&calls, asked).unwrap_or_default()
        };
        let once = asked("k", true, false);
        assert_eq!(wrong(&[Some("k")], std::slice::from_ref(&once)), "");
        assert!(wrong(&[Some("k"), Some("k")], std::slice::from_ref(&once)).contains("2 times"));
        assert_eq!(wrong(&[Some("k"), Some("k")], &[once.clone(), once.clone()]), "", "a retry of what was not carried out");
        assert_eq!(wrong(&[Some("k"), Some("k")], &[asked("k", false, false)]), "", "what may be asked again");
        assert!(wrong(&[Some("k"); 3], &[asked("k", false, false)]).contains("3 times"));
        assert!(wrong(&[Some("other")], std::slice::from_ref(&once)).contains("in no journal"));
        assert!(wrong(&[None], &[once]).contains("no key"));
    }

    #[test]
    fn what_is_in_doubt_is_given_up_and_nothing_else() {
        let doubt = BTreeSet::from([("t".to_owned(), 3)]);
        assert_eq!(wrong_doubt(&[asked("k", true, true)], &doubt), None);
        assert!(wrong_doubt(&[asked("k", true, false)], &doubt).is_some(), "asked again");
        assert!(wrong_doubt(&[asked("k", true, true)], &BTreeSet::new()).is_some(), "given up without a reason");
        assert!(wrong_doubt(&[asked("k", false, true)], &doubt).is_some(), "it could have been asked again");
    }
}
