//! The results of played packs, and playing in the core.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use convengine_core::config::Config;
use convengine_core::json::diff::Difference;
use convengine_core::pack::Pack;
use convengine_core::turn::Journal;
use serde_json::Value;

use super::check::failed_checks;
use super::core::{CorePlayer, Suspend};
use super::expect::{PlayedTurn, differences};
use super::known_differences::KnownDifferences;
use super::recording;
use super::trace::trace_turn;

/// The result of a played turn.
#[derive(Debug, Clone)]
pub struct TurnReport {
    /// The turn, from 0.
    pub turn: usize,
    /// SHA-256 over its slices, when it ran in the core.
    pub hash: Option<String>,
    /// Differences that no decision explains.
    pub unexplained: Vec<Difference>,
    /// Decisions that explain differences from the recording, with counts.
    pub explained: BTreeMap<String, usize>,
    /// Whether an explained difference affects the reply itself, ignoring its context.
    pub is_reply_different: bool,
    /// What the engine decided, a line each, if there are unexplained differences.
    pub trace: Vec<String>,
}

/// A turn as it was played.
pub(super) struct Played {
    /// The result in the form of an expectation.
    pub turn: PlayedTurn,
    /// SHA-256 over its slices, when it ran in the core.
    pub hash: Option<String>,
    /// The journals of what has run, each with its configuration.
    pub journals: Vec<(Journal, Arc<Config>)>,
}

/// The result of a played pack.
#[derive(Debug, Clone, Default)]
pub struct PackReport {
    /// The pack's name.
    pub name: String,
    /// Its turns.
    pub turns: Vec<TurnReport>,
    /// Why it could not be played to the end.
    pub failure: Option<String>,
}

impl PackReport {
    /// Returns whether every turn is as expected.
    pub fn has_passed(&self) -> bool {
        self.failure.is_none() && self.turns.iter().all(|it| it.unexplained.is_empty())
    }
}

/// Plays a pack in the core.
pub fn play_core(pack: &Pack, suspend: Suspend, explained: &KnownDifferences) -> PackReport {
    let mut player = CorePlayer::new(pack, suspend);
    if let Some(issue) = player.issues.first().filter(|_| pack.flow_document().is_some()) {
        return PackReport { name: pack.name.clone(), failure: Some(issue.to_string()), ..PackReport::default() };
    }
    play_turns(pack, explained, |turn| {
        let play = player.play(turn)?;
        Ok(Played { turn: play.played, hash: Some(play.hash), journals: vec![(play.journal, Arc::clone(&player.config))] })
    })
}

/// Plays the turns of a pack and compares each with its expectation.
pub(super) fn play_turns(pack: &Pack, explained: &KnownDifferences, mut play: impl FnMut(usize) -> Result<Played>) -> PackReport {
    let mut report = PackReport { name: pack.name.clone(), ..PackReport::default() };
    let expected = match explained.expectations(pack) {
        Ok((expected, idle)) => {
            report.failure = idle.into_iter().next();
            expected
        }
        Err(error) => return PackReport { failure: Some(format!("{error:#}")), ..report },
    };
    for (turn, (of_pack, expected)) in pack.turns.iter().zip(expected).enumerate() {
        let Played { turn: played, hash, journals } = match play(turn) {
            Ok(it) => it,
            Err(error) => {
                report.failure = Some(format!("turn {turn}: {error:#}"));
                return report;
            }
        };
        let mut unexplained = failed_checks(of_pack, &played);
        if let Some(expect) = &expected.expect {
            unexplained.extend(recorded_differences(expect, pack, turn, played));
        }
        let trace = match unexplained.is_empty() {
            true => Vec::new(),
            false => journals.iter().flat_map(|(journal, config)| trace_turn(journal, config)).collect(),
        };
        let (explained, is_reply_different) = (expected.explained, expected.is_reply_different);
        report.turns.push(TurnReport { turn, hash, unexplained, explained, is_reply_different, trace });
    }
    report
}

/// Returns the differences of a turn from its expectation, apart from ids and rows that the recorded server chose or left out.
pub fn recorded_differences(expect: &Value, pack: &Pack, turn: usize, played: PlayedTurn) -> Vec<Difference> {
    let played = recording::with_recorded_id(expect, pack, played);
    let played = match pack.turns.get(turn) {
        Some(turn) => recording::with_recorded_rows(expect, turn, played),
        None => played,
    };
    differences(expect, &played)
}
