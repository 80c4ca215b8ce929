//! `convengine replay`: replays a stored conversation from its journals and compares the results.

mod difference;

use std::path::Path;
use std::sync::Arc;

use convengine_content::config::import;
use convengine_core::Stage;
use convengine_core::config::Config;
use convengine_core::config::flow::import_canvas;
use convengine_core::pack::Pack;
use convengine_core::turn::{AuditPayload, Journal, Notice, NoticeBody, Outcome, RescuedTurn, Turn, TurnError, state_hash};
use convengine_host_base::clock;
use convengine_host_base::exit::Failure;
use convengine_host_base::print_line;
use convengine_settings::Settings;
use convengine_storage::Pool;
use convengine_storage::assistant::ProgramKey;
use convengine_storage::audit::AuditRow;
use convengine_storage::turn::StoredTurn;
use convengine_storage::{self as storage, audit, turn};
use convengine_turns::audit::derive::ConfigCache;
use convengine_turns::audit::meta;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use serde_json::{Value, json};

use self::difference::{differing_leaves, differing_port, first_difference};
use crate::ops::journal_export;

/// Turns that are replayed on all cores before their results are compared; the notices of as many are kept.
const BATCH_SIZE: usize = 64;

/// Runs the command.
///
/// # Errors
/// Returns exit code 1 at the first difference, or when the conversation or its configuration is missing; 3 when the database cannot be
/// used.
pub async fn run(settings: &Settings, conversation: &str, pack: Option<&Path>) -> Result<(), Failure> {
    let other = pack.map(import::read).transpose()?;
    let (pool, id, turns) = journal_export::load_turns(settings, conversation).await?;
    let recording = Recording::load(&pool, &id, turns).await.map_err(|it| storage::database_failure(&settings.database, &it))?;
    let done = recording.replay(other.as_ref(), &|| false)?;
    done.lines.iter().for_each(|it| print_line!("{it}"));
    if done.is_equal() { Ok(()) } else { Err(Failure::check_failed(done.difference)) }
}

/// The turns of a conversation with what their replay needs.
#[derive(Debug)]
pub struct Recording {
    turns: Vec<RecordedTurn>,
    audit_rows: Vec<AuditRow>,
    as_jsonb: bool,
}

/// A stored turn with its journal and its configuration, or the reason that it has none.
#[derive(Debug)]
struct RecordedTurn {
    stored: StoredTurn,
    replayable: Result<(Journal, Arc<Config>), String>,
}

/// The result of a replay.
#[derive(Debug, Default)]
pub struct ReplayReport {
    /// A line for each equal turn, and one for all of them at the end.
    pub lines: Vec<String>,
    /// The first difference; empty if there is none.
    pub difference: Vec<String>,
}

/// A turn on its own configuration beside the same turn on another one.
#[derive(Debug)]
pub struct ComparedTurn {
    /// The number of the turn.
    pub number: u32,
    /// The differences; empty if there are none.
    pub differences: Vec<String>,
}

impl ReplayReport {
    /// Whether everything is equal.
    pub fn is_equal(&self) -> bool {
        self.difference.is_empty()
    }
}

impl Recording {
    /// Loads what the replay of ended turns needs.
    pub async fn load(pool: &Pool, conversation: &str, turns: Vec<StoredTurn>) -> sqlx::Result<Recording> {
        let mut audit_rows = audit::list_for_conversation(pool, conversation).await?;
        // Feedback rows do not belong to a turn.
        audit_rows.retain(|row| ![Stage::McpUserFeedback.name(), Stage::SemanticFailureRecorded.name()].contains(&row.stage.as_str()));
        // `_meta` is not part of the published notices.
        meta::strip_meta(&mut audit_rows);
        let mut configs = ConfigCache::default();
        let mut recorded = Vec::with_capacity(turns.len());
        for stored in turns {
            let config = if stored.is_unrecoverable() { None } else { configs.load(pool, &stored.config_hash).await? };
            let journal = turn::decompress(&stored.journal).map_err(|it| format!("cannot read the journal: {it}"));
            let missing = || format!("configuration {} is not in the database", stored.config_hash);
            let replayable = journal.and_then(|journal| Ok((journal, config.ok_or_else(missing)?)));
            recorded.push(RecordedTurn { stored, replayable });
        }
        Ok(Recording { turns: recorded, audit_rows, as_jsonb: pool.is_shared() })
    }

    /// Replays the turns and compares the results, with what is stored or with those on the configuration of a pack. Asks `is_stopped`
    /// before each batch of turns.
    ///
    /// # Errors
    /// Returns exit code 1 if the pack has no document of the conversation.
    pub fn replay(&self, pack: Option<&Pack>, is_stopped: &dyn Fn() -> bool) -> Result<ReplayReport, Failure> {
        let other = pack.map(|it| self.compile(it)).transpose()?;
        let mut report = ReplayReport::default();
        if let Err(failure) = self.replay_turns(other.as_ref(), &mut report.lines, is_stopped) {
            report.difference = failure.lines;
        }
        Ok(report)
    }

    /// Compares each turn with the same turn on the configuration of a pack. Asks `is_stopped` before each batch of turns.
    ///
    /// # Errors
    /// Returns exit code 1 if the pack has no document of the conversation.
    pub fn compare(&self, pack: &Pack, is_stopped: &dyn Fn() -> bool) -> Result<Vec<ComparedTurn>, Failure> {
        let other = self.compile(pack)?;
        let replayable: Vec<&RecordedTurn> = self.turns.iter().filter(|it| !it.stored.is_unrecoverable()).collect();
        let compare =
            |it: &RecordedTurn| it.load().and_then(|(journal, config)| compare_configs(it.stored.number, journal, config, &other));
        let compared = |it: &&RecordedTurn| ComparedTurn {
            number: it.stored.number,
            differences: compare(it).err().map(|it| it.lines).unwrap_or_default(),
        };
        let batches = replayable.chunks(BATCH_SIZE).take_while(|_| !is_stopped());
        Ok(batches.flat_map(|batch| batch.par_iter().map(compared).collect::<Vec<_>>()).collect())
    }

    fn compile(&self, pack: &Pack) -> Result<Arc<Config>, Failure> {
        compile_pack(pack, &self.turns).map(Arc::new)
    }

    fn replay_turns(&self, other: Option<&Arc<Config>>, lines: &mut Vec<String>, is_stopped: &dyn Fn() -> bool) -> Result<(), Failure> {
        let mut audit_rows = self.audit_rows.as_slice();
        let options = CompareOptions { as_jsonb: self.as_jsonb, without_audit: audit_rows.is_empty() };
        for batch in self.turns.chunks(BATCH_SIZE) {
            if is_stopped() {
                return Err(check_failed(format!("stopped before turn {}", batch.first().map_or(0, |it| it.stored.number))));
            }
            // Journals are independent of each other; only the audit rows are compared one turn after the other.
            let replayed: Vec<_> = batch.par_iter().map(|it| it.replay(other)).collect();
            for (RecordedTurn { stored, .. }, replayed) in batch.iter().zip(replayed) {
                match replayed? {
                    Replayed::Lost => {
                        lines.push(format!("turn {} was lost and cannot be replayed", stored.number));
                        skip_lost_turn(stored, &mut audit_rows);
                    }
                    Replayed::Compared => {}
                    Replayed::Turn(turn) => lines.push(compare_turn(stored, &turn, &mut audit_rows, options)?),
                }
            }
        }
        lines.push(match (other, audit_rows.first()) {
            (Some(_), _) => "no difference".to_owned(),
            (None, None) if self.turns.len() == 1 => "1 turn equal".to_owned(),
            (None, None) => format!("{} turns equal", self.turns.len()),
            (None, Some(row)) => return Err(check_failed(format!("audit row {} {} does not belong to any turn", row.audit_id, row.stage))),
        });
        Ok(())
    }
}

impl RecordedTurn {
    fn load(&self) -> Result<(&Journal, &Arc<Config>), Failure> {
        let loaded = self.replayable.as_ref().map_err(|reason| check_failed(format!("turn {}: {reason}", self.stored.number)))?;
        Ok((&loaded.0, &loaded.1))
    }

    /// Replays the turn, or compares it with the same turn on another configuration.
    fn replay(&self, other: Option<&Arc<Config>>) -> Result<Replayed, Failure> {
        let number = self.stored.number;
        if self.stored.is_unrecoverable() {
            return Ok(Replayed::Lost);
        }
        let (journal, config) = self.load()?;
        if let Some(other) = other {
            return compare_configs(number, journal, config, other).map(|()| Replayed::Compared);
        }
        let result = if self.stored.status == "lost" { replay_lost_turn(journal, config) } else { replay_turn(journal, config) };
        result.map(|turn| Replayed::Turn(Box::new(turn))).map_err(|error| check_failed(format!("turn {number} differs: {error}")))
    }
}

/// The result of a turn.
enum Replayed {
    /// It was lost and has no journal that runs.
    Lost,
    /// It is equal on the other configuration.
    Compared,
    /// To be compared with what is stored.
    Turn(Box<ReplayedTurn>),
}

fn check_failed(line: String) -> Failure {
    Failure::check_failed(vec![line])
}

/// Compiles a pack for a conversation: the document of its assistant, or the tables if it has none.
fn compile_pack(pack: &Pack, turns: &[RecordedTurn]) -> Result<Config, Failure> {
    let program = turns.iter().find_map(|turn| ProgramKey::from_event(turn.replayable.as_ref().ok()?.0.input.event.flow.as_deref()?));
    let Some(program) = program else { return Ok(Config::compile(&pack.tables, &pack.settings).0) };
    let pack = Pack { documents: pack.documents.iter().cloned().map(import_canvas).collect(), ..pack.clone() };
    let at = pack.documents.iter().position(|document| ProgramKey::of_document(document) == program);
    let none = || check_failed(format!("the pack has no document of {program}; use a file that contains it"));
    let document = at.and_then(|it| pack.bundle(it)).ok_or_else(none)?;
    Config::from_flow(&document).map_err(|error| check_failed(format!("cannot compile the document of {program}: {error}")))
}

/// How to compare audit rows.
#[derive(Clone, Copy)]
struct CompareOptions {
    /// Whether to compare only what PostgreSQL's `jsonb` preserves.
    as_jsonb: bool,
    /// Whether there are no audit rows, because retention deleted them.
    without_audit: bool,
}

/// A replayed turn.
struct ReplayedTurn {
    outcome: Outcome,
    notices: Vec<Notice>,
    state_hash: String,
    /// The replayed journal, with the requests that a journal in DERIVED mode omits.
    journal: Journal,
    /// The ports that a flow has taken.
    ports: Vec<String>,
}

impl ReplayedTurn {
    fn new(turn: &Turn, outcome: Outcome, notices: Vec<Notice>) -> ReplayedTurn {
        ReplayedTurn { state_hash: state_hash(&outcome, &notices), outcome, notices, journal: turn.journal().clone(), ports: turn.ports() }
    }
}

/// Skips a lost turn without an outcome, and its audit rows.
fn skip_lost_turn(stored: &StoredTurn, audit_rows: &mut &[AuditRow]) {
    let last = Stage::TurnCancelled.name();
    let end = audit_rows.iter().position(|row| row.stage == last && row.payload_json.contains(&stored.turn_id));
    // Also skip the failure row that follows.
    *audit_rows = end.and_then(|end| audit_rows.get(end + 2..)).unwrap_or(audit_rows);
}

/// Compares the state hash and audit rows of a replayed turn. Removes the turn's rows from the front of `audit_rows`. Returns a line.
///
/// # Errors
/// Returns exit code 1 with the first difference.
fn compare_turn(
    stored: &StoredTurn,
    replayed: &ReplayedTurn,
    audit_rows: &mut &[AuditRow],
    options: CompareOptions,
) -> Result<String, Failure> {
    let number = stored.number;
    let hash = &replayed.state_hash;
    // Only stored rows are compared; a recovered turn may have stored its first rows only.
    let compared_notices = match options.without_audit || is_swept(stored, audit_rows) {
        true => 0,
        false => stored.first_audit_id.map_or(usize::MAX, |_| usize::try_from(stored.audited_notices).unwrap_or(0)),
    };
    let derived: Vec<(&str, &AuditPayload)> = replayed.notices.iter().take(compared_notices).filter_map(as_audit).collect();
    // A conversation may have started before journals existed.
    let started = clock::format_iso(replayed.journal.input.at);
    let older = audit_rows.iter().take_while(|row| number == 1 && row.created_at < started).count();
    let of_turn = &audit_rows[older..];
    let (of_turn, later) = of_turn.split_at(derived.len().min(of_turn.len()));
    *audit_rows = later;
    let differences = first_difference(of_turn, &derived, options.as_jsonb);
    if *hash == stored.state_hash && differences.is_empty() {
        return Ok(format!("turn {number} equal sha256 {hash}"));
    }
    let mut lines = match *hash == stored.state_hash {
        true => vec![format!("turn {number} differs from its audit rows: sha256 {hash}")],
        false => vec![format!("turn {number} differs: sha256 {hash}, stored {}", stored.state_hash)],
    };
    if differences.is_empty() {
        lines.push("the audit rows are equal, but the session, other written rows or the progress messages differ".to_owned());
    }
    lines.extend(differences);
    Err(Failure::check_failed(lines))
}

/// Returns whether retention deleted the rows of a turn: the remaining rows are newer.
fn is_swept(stored: &StoredTurn, audit_rows: &[AuditRow]) -> bool {
    let ended_at = clock::format_iso(stored.created_at.saturating_add(stored.total_ms.max(0)));
    audit_rows.first().is_some_and(|it| it.created_at > ended_at)
}

fn replay_turn(journal: &Journal, config: &Arc<Config>) -> Result<ReplayedTurn, TurnError> {
    let (turn, slice) = Turn::restore(journal.clone(), Arc::clone(config))?;
    let outcome = slice.end.ok_or(TurnError::Stalled)?;
    Ok(ReplayedTurn::new(&turn, outcome, slice.notices))
}

/// Replays a lost turn, which diverges from its journal: the notices up to that point and the outcome must be equal.
fn replay_lost_turn(journal: &Journal, config: &Arc<Config>) -> Result<ReplayedTurn, TurnError> {
    let RescuedTurn { turn, slice, divergence: diverged } = Turn::rescue(journal, Arc::clone(config))?;
    let outcome = slice.end.ok_or(diverged.unwrap_or(TurnError::Stalled))?;
    Ok(ReplayedTurn::new(&turn, outcome, slice.notices))
}

fn as_audit(notice: &Notice) -> Option<(&str, &AuditPayload)> {
    match &notice.body {
        NoticeBody::Audit { stage, payload } => Some((stage, payload)),
        NoticeBody::Verbose(_) | NoticeBody::Message { .. } => None,
    }
}

/// Replays a turn on another configuration.
///
/// # Errors
/// Returns exit code 1 with the first difference.
fn compare_configs(number: u32, journal: &Journal, recorded: &Arc<Config>, other: &Arc<Config>) -> Result<(), Failure> {
    let before = replay_turn(journal, recorded)
        .map_err(|error| check_failed(format!("cannot replay turn {number} on its own configuration: {error}")))?;
    // Replay the regenerated journal, which has all requests.
    let mut journal = before.journal.clone();
    journal.input.program = other.program();
    let after = replay_turn(&journal, other).map_err(|error| {
        let port = if let TurnError::Diverged(divergence) = &error { differing_port(&before.ports, &divergence.ports) } else { None };
        Failure::check_failed(std::iter::once(format!("turn {number}: {error}")).chain(port).collect())
    })?;
    let port = || differing_port(&before.ports, &after.ports);
    let count = before.notices.len().max(after.notices.len());
    for index in 0..count {
        let side = |notices: &[Notice]| notices.get(index).map_or(Value::Null, |it| json!(it));
        let (left, right) = (side(&before.notices), side(&after.notices));
        let found = differing_leaves(&left, &right);
        if !found.is_empty() {
            let stage = before.notices.get(index).or(after.notices.get(index)).map(notice_stage).unwrap_or_default();
            let node = before.notices.get(index).or(after.notices.get(index)).and_then(notice_node);
            let title = format!("turn {number} notice {index} {stage}{}", node.unwrap_or_default());
            return Err(Failure::check_failed(std::iter::once(title).chain(port()).chain(found).collect()));
        }
    }
    let found = differing_leaves(&before.outcome.to_response(), &after.outcome.to_response());
    if found.is_empty() {
        return Ok(());
    }
    Err(Failure::check_failed(std::iter::once(format!("turn {number} answer")).chain(port()).chain(found).collect()))
}

/// Names the node of a flow that a notice is of.
fn notice_node(notice: &Notice) -> Option<String> {
    let (_, payload) = as_audit(notice)?;
    Some(format!(" at {}/{}", payload.get("graph")?.as_str()?, payload.get("node")?.as_str()?))
}

fn notice_stage(notice: &Notice) -> &str {
    match &notice.body {
        NoticeBody::Audit { stage, .. } => stage,
        NoticeBody::Verbose(verbose) => &verbose.determinant,
        NoticeBody::Message { .. } => "MESSAGE",
    }
}
