//! Plays packs for the tool `play` of the Model Context Protocol.

use anyhow::ensure;
use convengine_core::pack::Pack;
use convengine_host::api::mcp::{self, PlayReport};

use super::core::{CorePlayer, Suspend};
use super::known_differences::KnownDifferences;
use super::report::{Played, TurnReport, play_turns};

/// Plays a pack in the core for the tool `play`; asks whether to stop before each turn.
pub fn play_in_core(pack: &Pack, is_stopped: &dyn Fn() -> bool) -> PlayReport {
    if let Some(turn) = (0..pack.turns.len()).find(|turn| pack.message(*turn).is_none()) {
        let failure = format!("turn {turn} is not a plain message, which needs a server; play the pack with `convengine test`");
        return PlayReport { failure: Some(failure), ..PlayReport::default() };
    }
    let mut player = CorePlayer::new(pack, Suspend::Never);
    if let Some(issue) = player.issues.first().filter(|_| pack.flow_document().is_some()) {
        return PlayReport { failure: Some(issue.to_string()), ..PlayReport::default() };
    }
    let report = play_turns(pack, &KnownDifferences::default(), |turn| {
        ensure!(!is_stopped(), "stopped: it was canceled, or takes too long");
        player.play(turn).map(|played| Played { turn: played.played, hash: None, journals: Vec::new() })
    });
    let turn = |it: TurnReport| mcp::PlayedTurn { turn: it.turn, differences: it.unexplained };
    PlayReport { turns: report.turns.into_iter().map(turn).collect(), failure: report.failure }
}
