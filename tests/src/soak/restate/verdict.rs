//! Compares what a cluster stored, and the calls that its services received, with what was acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, anyhow};
use convengine_player::fake_http::RecordedCall;
use convengine_storage::turn::list_ended;
use convengine_storage::{DatabaseConfig, open_reader_pool};
use convengine_turns::audit::derive::{ConfigCache, replay_turn};
use tokio::runtime::Builder;

use super::RestateReport;
use super::load::Load;
use super::tenant::{Tenant, Use};
use crate::soak::doubt::{JournalEffect, replay_effects_on};

/// The number of conversations of each tenant that the engine's own command replays.
const REPLAYED_BY_COMMAND: usize = 10;

/// What the turns of a tenant requested.
#[derive(Debug, Default)]
struct Requested {
    effects: Vec<JournalEffect>,
    /// The turns with a call in doubt: the conversation and the number of the turn.
    doubts: BTreeSet<(String, u32)>,
    /// Turns whose journals do not replay.
    failures: Vec<String>,
}

/// Adds what is wrong to a report, and the numbers of calls.
pub(super) fn add(report: &mut RestateReport, load: &Load, convengine: &Path) -> Result<()> {
    for (index, tenant) in load.tenants.iter().enumerate() {
        let conversations = tenant.database.query("select distinct cast(conversation_id as text) from ce_turn order by 1")?;
        let conversations: Vec<String> = conversations.into_iter().flatten().collect();
        match tenant.use_as {
            Use::Talk { .. } => report.failures.extend(load.acknowledged.find_lost(index, tenant.name, &tenant.database)?),
            Use::Chain { .. } => report.failures.extend(find_lost_runs(load, index, &conversations)?),
        }
        let requested = read_requested(tenant, &conversations)?;
        report.failures.extend(requested.failures);
        let answered: BTreeSet<(String, u32)> =
            load.doubts.borrow().iter().filter(|it| it.0 == index).map(|it| (it.1.clone(), it.2)).collect();
        for (conversation, number) in answered.difference(&requested.doubts) {
            report
                .failures
                .push(format!("{} {conversation} turn {number}: the answer names a call in doubt, the journal none", tenant.name));
        }
        for (conversation, number) in requested.doubts.difference(&answered).filter(|it| !is_named_anyway(tenant, it.1)) {
            report.failures.push(format!("{} {conversation} turn {number}: the answer does not name the call in doubt", tenant.name));
        }
        report.in_doubt += requested.doubts.len();
        check_calls(report, tenant.name, &tenant.calls.all(), &requested.effects);
        let step = conversations.len().div_ceil(REPLAYED_BY_COMMAND).max(1);
        for conversation in conversations.iter().step_by(step) {
            report.failures.extend(find_replay_error(convengine, tenant.database.url(), conversation)?);
        }
    }
    Ok(())
}

/// Whether the answer of a turn says that a call has failed, also in the undisturbed run.
fn is_named_anyway(tenant: &Tenant, number: u32) -> bool {
    let Use::Talk { doubt_text } = tenant.use_as else { return false };
    let exchange = usize::try_from(number).ok().and_then(|number| tenant.talk.turns.get(number.checked_sub(1)?));
    exchange.is_some_and(|exchange| exchange.answer["payload"]["value"].as_str().is_some_and(|reply| reply.contains(doubt_text)))
}

/// Replays the turns of conversations.
fn read_requested(tenant: &Tenant, conversations: &[String]) -> Result<Requested> {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let place = DatabaseConfig { url: tenant.database.url().to_owned(), full_sync: false };
        let pool = open_reader_pool(&place).await.map_err(|it| anyhow!("{it}"))?;
        let (mut requested, mut configs) = (Requested::default(), ConfigCache::default());
        for conversation in conversations {
            for turn in list_ended(&pool, conversation).await? {
                let config = configs.load(&pool, &turn.config_hash).await?;
                if let Err(reason) = replay_turn(&turn, config.as_ref()) {
                    requested.failures.push(format!("{} {conversation} turn {}: {reason}", tenant.name, turn.number));
                    continue;
                }
                let (effects, _) = replay_effects_on(config.context("the turn's configuration is not stored")?, &turn)?;
                if effects.iter().any(|it| it.interrupted) {
                    requested.doubts.insert((conversation.clone(), turn.number));
                }
                requested.effects.extend(effects);
            }
        }
        pool.close().await;
        Ok(requested)
    })
}

/// Compares calls with what was requested: one that is not repeatable is made once, or at most once if it is in doubt; a repeatable one at
/// least once, and under one key.
fn check_calls(report: &mut RestateReport, tenant: &str, calls: &[RecordedCall], requested: &[JournalEffect]) {
    let mut made: BTreeMap<&str, usize> = BTreeMap::new();
    for call in calls.iter().filter(|it| it.method != "GET") {
        match &call.idempotency_key {
            Some(key) => *made.entry(key).or_default() += 1,
            None => report.failures.push(format!("{tenant}: {} {} has no key", call.method, call.path)),
        }
    }
    let mut by_key: BTreeMap<&str, Vec<&JournalEffect>> = BTreeMap::new();
    requested.iter().filter(|it| it.is_call).for_each(|call| by_key.entry(&call.key).or_default().push(call));
    for (key, effects) in by_key {
        let count = made.remove(key).unwrap_or_default();
        let in_doubt = effects.iter().filter(|it| it.interrupted).count();
        report.calls[0] += count;
        report.in_doubt_made += if in_doubt > 0 { (count + in_doubt).saturating_sub(effects.len()) } else { 0 };
        let is_valid = if effects.iter().any(|it| it.non_repeatable) {
            count + in_doubt >= effects.len() && count <= effects.len()
        } else {
            report.calls[1] += count.saturating_sub(1);
            count > 0 && in_doubt == 0
        };
        if !is_valid {
            report.failures.push(format!("{tenant}: a call was made {count} times: {effects:?}"));
        }
    }
    report.failures.extend(made.into_keys().map(|it| format!("{tenant}: a call with the key '{it}' is in no journal")));
}

/// Returns the runs that were started and are not stored, or have gaps, or were not started.
fn find_lost_runs(load: &Load, index: usize, stored: &[String]) -> Result<Vec<String>> {
    let started: BTreeSet<String> = load.runs.borrow().iter().filter(|it| it.0 == index).map(|it| it.1.clone()).collect();
    let stored: BTreeSet<String> = stored.iter().cloned().collect();
    let mut lost: Vec<String> =
        started.symmetric_difference(&stored).map(|it| format!("run {it} was lost, or its start was not acknowledged")).collect();
    let gaps = "select cast(conversation_id as text) from ce_turn group by conversation_id having count(*) <> max(number)";
    lost.extend(load.tenants[index].database.query(gaps)?.into_iter().flatten().map(|it| format!("run {it} has gaps")));
    Ok(lost)
}

/// Replays a conversation with the command for it; returns what it prints if a turn differs.
fn find_replay_error(convengine: &Path, database: &str, conversation: &str) -> Result<Option<String>> {
    let mut command = Command::new(convengine);
    let replayed = command.args(["replay", "--conversation", conversation, "--database", database]).output()?;
    let text = String::from_utf8_lossy(&replayed.stdout);
    let mut turns = text.lines().filter(|it| it.starts_with("turn ")).peekable();
    let is_equal = replayed.status.success() && turns.peek().is_some() && turns.all(|it| it.contains(" equal sha256 "));
    Ok((!is_equal).then(|| format!("`convengine replay --conversation {conversation}`: {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(keys: &[&str], effect: &JournalEffect) -> Vec<String> {
        let call = |key: &&str| RecordedCall {
            method: "POST".to_owned(),
            path: "/pay".to_owned(),
            body: String::new(),
            idempotency_key: Some((*key).to_owned()),
        };
        let mut report = RestateReport::default();
        check_calls(&mut report, "a", &keys.iter().map(call).collect::<Vec<_>>(), std::slice::from_ref(effect));
        report.failures
    }

    #[test]
    fn only_a_repeatable_call_is_repeated_and_only_one_in_doubt_is_missing() {
        let once =
            JournalEffect { effect: ("t".to_owned(), 1), key: "k".to_owned(), non_repeatable: true, is_call: true, interrupted: false };
        assert_eq!(check(&["k"], &once), [""; 0]);
        assert_eq!((check(&[], &once).len(), check(&["k", "k"], &once).len(), check(&["k", "other"], &once).len()), (1, 1, 1));
        let doubt = JournalEffect { interrupted: true, ..once.clone() };
        assert_eq!((check(&["k"], &doubt), check(&[], &doubt)), (Vec::new(), Vec::new()));
        assert_eq!(check(&["k", "k"], &doubt).len(), 1);
        let repeatable = JournalEffect { non_repeatable: false, ..once };
        assert_eq!((check(&["k"], &repeatable), check(&["k", "k", "k"], &repeatable)), (Vec::new(), Vec::new()));
        assert_eq!(check(&[], &repeatable).len(), 1);
        assert_eq!(check(&["k"], &JournalEffect { interrupted: true, ..repeatable }).len(), 1);
    }
}
