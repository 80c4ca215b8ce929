//! Fault simulation: runs every turn of a pack again with each fault in each of its effects, and checks the invariants.

pub mod fault;
pub mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow};
use convengine_core::pack::Pack;
use convengine_player::{CorePlayer, Suspend};

use self::fault::Fault;
use self::run::{Baseline, TurnRun};
use crate::Case;
use crate::invariants::{PackRows, RelatedRuns, TurnUnderTest, find_violations};

/// A violation of an invariant, with its cause.
#[derive(Debug, Clone)]
pub struct Violation {
    /// The pack.
    pub pack: String,
    /// The turn, from 0.
    pub turn: usize,
    /// The number of the disturbed effect, from 0, and its fault; `None` for an undisturbed turn.
    pub fault: Option<(usize, Fault)>,
    /// Whether the violation occurs in the turn after the disturbed one.
    pub in_following_turn: bool,
    /// The violated invariant.
    pub invariant: &'static str,
    /// A description of the violation.
    pub text: String,
}

/// The result of a pack.
#[derive(Debug, Clone, Default)]
pub struct SimulationReport {
    /// The pack.
    pub pack: String,
    /// The number of its turns.
    pub turns: usize,
    /// The number of effects of its undisturbed turns.
    pub effects: usize,
    /// The number of disturbed turns, by fault family.
    pub cases: BTreeMap<&'static str, usize>,
    /// The number of turns that were run after a disturbed one.
    pub following_turns: usize,
    /// The maximum of effects per turn, notices per turn, characters per prompt, and bytes per journal.
    pub maximums: [usize; 4],
    /// All violations.
    pub violations: Vec<Violation>,
}

impl SimulationReport {
    /// Returns the number of disturbed turns.
    pub fn total_cases(&self) -> usize {
        self.cases.values().sum()
    }

    /// Returns whether the pack has effects, but none was disturbed.
    pub fn is_untried(&self) -> bool {
        self.effects > 0 && self.total_cases() == 0
    }
}

/// Runs a pack undisturbed, and then every case whose number within the pack `pick` selects.
///
/// # Errors
/// If the pack cannot be run undisturbed.
pub fn simulate(case: &Case, pick: impl Fn(usize) -> bool) -> Result<SimulationReport> {
    let pack = &case.pack;
    let mut simulation = Simulation {
        pack,
        rows: PackRows::from_pack(pack),
        baseline_replies: BTreeSet::new(),
        player: CorePlayer::new(pack, Suspend::Never),
        report: SimulationReport { pack: pack.name.clone(), turns: pack.turns.len(), ..SimulationReport::default() },
    };
    let mut played = Vec::new();
    for turn in 0..pack.turns.len() {
        let baseline = run::run_baseline(&mut simulation.player, turn).with_context(|| format!("{} turn {turn}", pack.name))?;
        simulation.report.effects += baseline.run.answered.len();
        simulation.check(turn, None, &baseline.run, RelatedRuns::default());
        simulation.player.commit(&baseline.run.outcome);
        simulation.baseline_replies.extend(baseline.run.outcome.payload.iter().map(|it| it.value.clone()));
        played.push(baseline);
    }
    let mut number = 0;
    for (turn, baseline) in played.iter().enumerate() {
        for (at, answered) in baseline.run.answered.iter().enumerate() {
            for fault in fault::faults_for(&answered.effect) {
                if pick(number) {
                    simulation.inject(turn, &played, at, fault);
                }
                number += 1;
            }
        }
    }
    Ok(simulation.report)
}

struct Simulation<'p> {
    pack: &'p Pack,
    rows: PackRows,
    baseline_replies: BTreeSet<String>,
    player: CorePlayer,
    report: SimulationReport,
}

impl Simulation<'_> {
    /// Runs a turn with a fault, and then the conversation's next turn.
    fn inject(&mut self, turn: usize, played: &[Baseline], at: usize, fault: Fault) {
        let Some(baseline) = played.get(turn) else { return };
        *self.report.cases.entry(fault.family()).or_default() += 1;
        let (label, player) = (Some((at, fault)), &mut self.player);
        let run = match catch_panic(|| run::run_with_fault(player, baseline, at, fault)) {
            Ok(run) => run,
            Err(error) => return self.record_violation(turn, label, false, "I1", format!("{error:#}")),
        };
        self.check(turn, label, &run, RelatedRuns { undisturbed: Some(&baseline.run), ..RelatedRuns::default() });
        let Some(after) = next_turn(self.pack, turn) else { return };
        self.player.commit(&run.outcome);
        self.report.following_turns += 1;
        let player = &mut self.player;
        match catch_panic(|| run::run_baseline(player, after)) {
            Ok(later) => {
                let baseline = played.get(after).map(|it| &it.run);
                self.check(turn, label, &later.run, RelatedRuns { undisturbed: None, after_undisturbed: baseline, previous: Some(&run) });
            }
            Err(error) => self.record_violation(turn, label, true, "I1", format!("{error:#}")),
        }
    }

    fn check(&mut self, turn: usize, fault: Option<(usize, Fault)>, run: &TurnRun, beside: RelatedRuns<'_>) {
        let (config, later) = (Arc::clone(&self.player.config), beside.previous.is_some());
        let scene = TurnUnderTest {
            config: &config,
            rows: &self.rows,
            baseline_replies: &self.baseline_replies,
            run,
            related: beside,
            fault: fault.map(|it| it.1),
        };
        for (largest, found) in self.report.maximums.iter_mut().zip(scene.sizes()) {
            *largest = found.max(*largest);
        }
        for (invariant, text) in find_violations(&scene) {
            self.record_violation(turn, fault, later, invariant, text);
        }
    }

    fn record_violation(&mut self, turn: usize, fault: Option<(usize, Fault)>, later: bool, invariant: &'static str, text: String) {
        self.report.violations.push(Violation { pack: self.pack.name.clone(), turn, fault, in_following_turn: later, invariant, text });
    }
}

/// Turns a panic into an error, so that the other cases still run.
fn catch_panic<T>(play: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(play)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(anyhow!("the core panicked: {}", text.unwrap_or_default()))
    })
}

/// Returns the next turn of the same conversation.
fn next_turn(pack: &Pack, turn: usize) -> Option<usize> {
    let conversation = |turn: usize| pack.message(turn)?.conversation_id.map(|id| id.to_lowercase());
    let of_turn = conversation(turn)?;
    (turn + 1..pack.turns.len()).find(|later| conversation(*later).as_ref() == Some(&of_turn))
}

/// Runs several packs in parallel; `pick` selects cases by the position of the pack and the number of the case within it.
///
/// # Errors
/// If a pack cannot be run undisturbed.
pub fn simulate_all(cases: &[Case], pick: impl Fn(usize, usize) -> bool + Sync) -> Result<Vec<SimulationReport>> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(cases.len());
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let position = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(position) else { return };
                    let figures = simulate(case, |number| pick(position, number));
                    found.lock().unwrap_or_else(PoisonError::into_inner).insert(position, figures);
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}
