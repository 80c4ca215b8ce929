//! Plays every turn of a pack again with something done to each of its effects, and asks the invariants about each.

pub mod fault;
pub mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow};
use convengine_core::pack::Pack;
use convengine_server::play::{CorePlayer, Suspend};

use self::fault::Fault;
use self::run::{Run, Undisturbed};
use crate::Case;
use crate::invariants::{Beside, Rows, Scene, breaches};

/// Something that must not happen, with what brings it about.
#[derive(Debug, Clone)]
pub struct Violation {
    /// The pack.
    pub pack: String,
    /// The turn, from 0.
    pub turn: usize,
    /// The effect to which something was done, from 0, and what; absent when nothing was.
    pub fault: Option<(usize, Fault)>,
    /// Whether it shows in the turn after the disturbed one.
    pub later: bool,
    /// Which invariant does not hold.
    pub invariant: &'static str,
    /// How.
    pub text: String,
}

/// What came of a pack.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// The pack.
    pub pack: String,
    /// Its turns.
    pub turns: usize,
    /// What they ask for when nothing is done to them.
    pub effects: usize,
    /// Disturbed turns, by family of what was done.
    pub cases: BTreeMap<&'static str, usize>,
    /// Turns that were played on what a disturbed one had left.
    pub later: usize,
    /// The largest number of effects and of notices in a turn, of characters in a prompt, and of bytes in a journal.
    pub largest: [usize; 4],
    /// What must not happen and did.
    pub violations: Vec<Violation>,
}

impl Figures {
    /// All disturbed turns.
    pub fn all(&self) -> usize {
        self.cases.values().sum()
    }

    /// Whether the pack has effects of which none was disturbed.
    pub fn is_untried(&self) -> bool {
        self.effects > 0 && self.all() == 0
    }
}

/// Plays a pack undisturbed, and of each turn those cases again whose number within the pack is picked.
///
/// # Errors
/// When the pack cannot be played undisturbed.
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
        let meant = run::undisturbed(&mut simulation.player, turn).with_context(|| format!("{} turn {turn}", pack.name))?;
        simulation.figures.effects += meant.run.answered.len();
        simulation.judge(turn, None, &meant.run, Beside::default());
        simulation.player.commit(&meant.run.outcome);
        simulation.usual.extend(meant.run.outcome.payload.iter().map(|it| it.value.clone()));
        played.push(meant);
    }
    let mut number = 0;
    for (turn, meant) in played.iter().enumerate() {
        for (at, answered) in meant.run.answered.iter().enumerate() {
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
    /// Does something to a turn, and plays the conversation's next turn on what it leaves.
    fn disturb(&mut self, turn: usize, played: &[Undisturbed], at: usize, fault: Fault) {
        let Some(meant) = played.get(turn) else { return };
        *self.figures.cases.entry(fault.family()).or_default() += 1;
        let (label, player) = (Some((at, fault)), &mut self.player);
        let run = match ended(|| run::disturbed(player, meant, at, fault)) {
            Ok(run) => run,
            Err(error) => return self.violation(turn, label, false, "I1", format!("{error:#}")),
        };
        self.judge(turn, label, &run, Beside { meant: Some(&meant.run), ..Beside::default() });
        let Some(after) = next_of(self.pack, turn) else { return };
        self.player.commit(&run.outcome);
        self.figures.later += 1;
        let player = &mut self.player;
        match ended(|| run::undisturbed(player, after)) {
            Ok(later) => {
                let usually = played.get(after).map(|it| &it.run);
                self.judge(turn, label, &later.run, Beside { meant: None, usually, before: Some(&run) });
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

/// A panic is the worst of ends, and an end all the same for those who run the others.
fn ended<T>(play: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(play)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(anyhow!("the core panicked: {}", text.unwrap_or_default()))
    })
}

/// The next turn of the same conversation.
fn next_of(pack: &Pack, turn: usize) -> Option<usize> {
    let conversation = |turn: usize| pack.message(turn)?.conversation_id.map(|it| it.to_lowercase());
    let of_turn = conversation(turn)?;
    (turn + 1..pack.turns.len()).find(|it| conversation(*it).as_ref() == Some(&of_turn))
}

/// Plays several packs at the same time; `pick` is asked with the position of the pack and the number of the case within it.
///
/// # Errors
/// When a pack cannot be played undisturbed.
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
