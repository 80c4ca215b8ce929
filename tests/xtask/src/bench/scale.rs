//! The cost of a turn by size of the configuration and length of the conversation, which should affect it little.

use anyhow::Result;

use super::{Bench, Target};
use crate::sh;
use crate::turns_run::TurnsRun;

/// The sizes of the generated configurations, in rows.
const ROWS: [u64; 3] = [10, 1_000, 10_000];

/// The numbers of the turns of a conversation whose cost is compared.
const TURNS: [u64; 3] = [5, 50, 500];

/// The number of conversations of the shorter of two runs.
const CONVERSATIONS: u64 = 20;

/// How often a turn is repeated in the shorter of two runs.
const TIMES: u64 = 100;

/// The number of turns of a conversation on a generated configuration.
const MESSAGES: u64 = 5;

/// Instructions per turn.
pub struct Scale {
    by_rows: Vec<(u64, u64)>,
    by_turns: Vec<(u64, u64)>,
}

impl Scale {
    /// Counts the instructions.
    pub fn measure(bench: &Bench<'_>) -> Result<Self> {
        sh::print_progress("counting instructions by the size of the configuration and the length of the conversation");
        let binary = bench.release_binary("turns");
        let of_rows = |rows: u64| {
            let whole = TurnsRun { pack: &format!("rows:{rows}"), mode: "core", turn: None };
            Ok((rows, whole.count_instructions(bench.project, &binary, CONVERSATIONS)? / (CONVERSATIONS * MESSAGES)))
        };
        let of_turn = |turn: u64| {
            let repeated = TurnsRun { pack: "rows:10", mode: "core", turn: Some(turn) };
            Ok((turn, repeated.count_instructions(bench.project, &binary, TIMES)? / TIMES))
        };
        Ok(Self {
            by_rows: ROWS.into_iter().map(of_rows).collect::<Result<_>>()?,
            by_turns: TURNS.into_iter().map(of_turn).collect::<Result<_>>()?,
        })
    }

    /// Prints the table.
    pub fn print(&self) {
        println!("\n{:<40}{:>12}{:>12}", "per turn, audit ALL", "instructions", "percent");
        for (counts, of) in [(&self.by_rows, "configured rows"), (&self.by_turns, "as turn number")] {
            let first = counts.first().map_or(1, |it| it.1);
            for (size, count) in counts {
                println!("{:<40}{count:>12}{:>12}", format!("{size} {of}"), percent(*count, first));
            }
        }
    }

    /// Returns the figures that have a limit in the budget file.
    pub fn budget_figures(&self) -> Vec<(&'static str, Option<u64>)> {
        vec![("rows_spread_percent", spread(&self.by_rows)), ("long_conversation_percent", self.growth())]
    }

    /// Returns the targets.
    pub fn targets(&self) -> Vec<Target> {
        let at_most = |what: &str, measured: Option<u64>, limit: u64| Target {
            label: what.to_owned(),
            measured: measured.map_or("-".to_owned(), |percent| format!("{percent} %")),
            met: measured.map(|percent| percent <= limit),
        };
        vec![
            at_most("rows: highest cost at most 150 % of the lowest, 10 to 10,000 rows", spread(&self.by_rows), 150),
            at_most("conversation: turn 500 costs at most 105 % of turn 5", self.growth(), 105),
        ]
    }

    /// Returns the last turn's cost in percent of the first's.
    fn growth(&self) -> Option<u64> {
        Some(percent(self.by_turns.last()?.1, self.by_turns.first()?.1))
    }
}

/// Returns the largest cost in percent of the smallest.
fn spread(counts: &[(u64, u64)]) -> Option<u64> {
    let costs = counts.iter().map(|it| it.1);
    Some(percent(costs.clone().max()?, costs.min()?))
}

fn percent(count: u64, total: u64) -> u64 {
    (100 * count).div_ceil(total.max(1))
}
