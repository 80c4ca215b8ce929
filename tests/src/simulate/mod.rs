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
use self::run::{Run, Undisturbed};
use crate::Case;
use crate::invariants::{Beside, Rows, Scene, breaches};

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
    pub later: bool,
    /// The violated invariant.
    pub invariant: &'static str,
    /// A description of the violation.
    pub text: String,
}

/// The result of a pack.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// The pack.
    pub pack: String,
    /// The number of its turns.
    pub turns: usize,
    /// The number of effects of its undisturbed turns.
    pub effects: usize,
    /// The number of disturbed turns, by fault family.
    pub cases: BTreeMap<&'static str, usize>,
    /// The number of turns that were run after a disturbed one.
    pub later: usize,
    /// The maximum of effects per turn, notices per turn, characters per prompt, and bytes per journal.
    pub largest: [usize; 4],
    /// All violations.
    pub violations: Vec<Violation>,
}

impl Figures {
    /// Returns the number of disturbed turns.
    pub fn all(&self) -> usize {
        self.cases.values().sum()
    }

    /// Returns whether the pack has effects, but none was disturbed.
    pub fn is_untried(&self) -> bool {
        self.effects > 0 && self.all() == 0
    }
}

/// Runs a pack undisturbed, and then every case whose number within the pack `pick` selects.
///
/// # Errors
/// If the pack cannot be run undisturbed.
pub fn simulate(case: &Case, pick: impl Fn(usize) -> bool) -> Result<Figures> {
    let pack = &case.pack;
    let mut simulation = Simulation {
        pack,
        rows: Rows::of(pack),
        usual: BTreeSet::new(),
        player: CorePlayer::new(pack, Suspend::Never),
        figures: Figures { pack: pack.name.clone(), turns: pack.turns.len(), ..Figures::default() },
    };
    let mut played = Vec::new();
    for turn in 0..pack.turns.len() {
        let baseline = run::undisturbed(&mut simulation.player, turn).with_context(|| format!("{} turn {turn}", pack.name))?;
        simulation.figures.effects += baseline.run.answered.len();
        simulation.judge(turn, None, &baseline.run, Beside::default());
        simulation.player.commit(&baseline.run.outcome);
        simulation.usual.extend(baseline.run.outcome.payload.iter().map(|it| it.value.clone()));
        played.push(baseline);
    }
    let mut number = 0;
    for (turn, baseline) in played.iter().enumerate() {
        for (at, answered) in baseline.run.answered.iter().enumerate() {
            for fault in fault::of_effect(&answered.effect) {
                if pick(number) {
                    simulation.disturb(turn, &played, at, fault);
                }
                number += 1;
            }
        }
    }
    Ok(simulation.figures)
}

struct Simulation<'p> {
    pack: &'p Pack,
    rows: Rows,
    usual: BTreeSet<String>,
    player: CorePlayer,
    figures: Figures,
}

impl Simulation<'_> {
    /// Runs a turn with a fault, and then the conversation's next turn.
    fn disturb(&mut self, turn: usize, played: &[Undisturbed], at: usize, fault: Fault) {
        let Some(baseline) = played.get(turn) else { return };
        *self.figures.cases.entry(fault.family()).or_default() += 1;
        let (label, player) = (Some((at, fault)), &mut self.player);
        let run = match ended(|| run::disturbed(player, baseline, at, fault)) {
            Ok(run) => run,
            Err(error) => return self.violation(turn, label, false, "I1", format!("{error:#}")),
        };
        self.judge(turn, label, &run, Beside { meant: Some(&baseline.run), ..Beside::default() });
        let Some(after) = next_of(self.pack, turn) else { return };
        self.player.commit(&run.outcome);
        self.figures.later += 1;
        let player = &mut self.player;
        match ended(|| run::undisturbed(player, after)) {
            Ok(later) => {
                let baseline = played.get(after).map(|it| &it.run);
                self.judge(turn, label, &later.run, Beside { meant: None, usually: baseline, before: Some(&run) });
            }
            Err(error) => self.violation(turn, label, true, "I1", format!("{error:#}")),
        }
    }

    fn judge(&mut self, turn: usize, fault: Option<(usize, Fault)>, run: &Run, beside: Beside<'_>) {
        let (config, later) = (Arc::clone(&self.player.config), beside.before.is_some());
        let scene = Scene { config: &config, rows: &self.rows, usual: &self.usual, run, beside, fault: fault.map(|it| it.1) };
        for (largest, found) in self.figures.largest.iter_mut().zip(scene.sizes()) {
            *largest = found.max(*largest);
        }
        for (invariant, text) in breaches(&scene) {
            self.violation(turn, fault, later, invariant, text);
        }
    }

    fn violation(&mut self, turn: usize, fault: Option<(usize, Fault)>, later: bool, invariant: &'static str, text: String) {
        self.figures.violations.push(Violation { pack: self.pack.name.clone(), turn, fault, later, invariant, text });
    }
}

/// Turns a panic into an error, so that the other cases still run.
fn ended<T>(play: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(play)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(anyhow!("the core panicked: {}", text.unwrap_or_default()))
    })
}

/// Returns the next turn of the same conversation.
fn next_of(pack: &Pack, turn: usize) -> Option<usize> {
    let conversation = |turn: usize| pack.message(turn)?.conversation_id.map(|it| it.to_lowercase());
    let of_turn = conversation(turn)?;
    (turn + 1..pack.turns.len()).find(|it| conversation(*it).as_ref() == Some(&of_turn))
}

/// Runs several packs in parallel; `pick` selects cases by the position of the pack and the number of the case within it.
///
/// # Errors
/// If a pack cannot be run undisturbed.
pub fn all_of(cases: &[Case], pick: impl Fn(usize, usize) -> bool + Sync) -> Result<Vec<Figures>> {
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
