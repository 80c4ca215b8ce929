//! The turn runner on a runtime in memory: packs end as in the core, also when a turn is stopped at every point and continued.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use convengine_core::config::Config;
use convengine_core::pack::{Conversations, Scripted};
use convengine_core::turn::{
    CancelReason, Completion, Effect, Journal, Millis, Notice, Outcome, RescuedTurn, Slice, Turn, TurnInput, state_hash,
};
use convengine_player::{CorePlayer, Suspend};
use convengine_test_macros::test;
use convengine_tests::{Case, corpus, flows};
use convengine_turns::refusal::Refusal;
use convengine_turns::stream::TokenPublisher;
use convengine_turns::turn_runner::{Clock, Effects, Progress, Publisher, TurnRuntime, TurnStore};

/// Kinds of requests that the core's player answers by services of its own, which this runtime has not.
const LOCAL_SERVICES: [&str; 3] = ["sql", "script", "tool"];

/// The memory of one turn.
#[derive(Default)]
struct Memory {
    scripted: Scripted,
    running: VecDeque<Effect>,
    now: Millis,
    /// The last stored journal, with the script as it was then.
    stored: Option<(Journal, Scripted)>,
    is_committed: bool,
    /// How many points were crossed, and at which the turn is stopped.
    crossed: usize,
    stop_at: Option<usize>,
}

impl Memory {
    fn cross(&mut self) -> Result<(), Refusal> {
        self.crossed += 1;
        if self.stop_at == Some(self.crossed) { Err(Refusal::Internal("stopped".to_owned())) } else { Ok(()) }
    }
}

/// A part of the runtime.
#[derive(Clone, Default)]
struct Part(Arc<Mutex<Memory>>);

impl Part {
    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap()
    }
}

impl TurnStore for Part {
    /// The journal; `None` for the end.
    type Prepared = Option<Journal>;

    fn prepare(&mut self, turn: &Turn, _notices: &[Notice], _effects: &[Effect]) -> Result<Option<Journal>, Refusal> {
        Ok(Some(turn.journal().clone()))
    }

    fn prepare_end(&mut self, _turn: &Turn, _notices: &[Notice], _outcome: &Outcome) -> Result<Option<Journal>, Refusal> {
        Ok(None)
    }

    async fn store(&mut self, prepared: Option<Journal>) -> Result<(), Refusal> {
        let mut memory = self.lock();
        memory.cross()?;
        memory.stored = prepared.map(|it| (it, memory.scripted.clone()));
        memory.cross()
    }

    async fn commit(&mut self, _prepared: Option<Journal>) -> Result<(), Refusal> {
        let mut memory = self.lock();
        memory.cross()?;
        memory.is_committed = true;
        Ok(())
    }
}

impl Effects for Part {
    async fn find_cancellation(&mut self) -> Result<Option<CancelReason>, Refusal> {
        Ok(None)
    }

    fn start(&mut self, effect: Effect, _tokens: Option<TokenPublisher>) {
        self.lock().running.push_back(effect);
    }

    async fn next(&mut self) -> Result<Progress, Refusal> {
        let mut memory = self.lock();
        memory.cross()?;
        let Some(effect) = memory.running.pop_front() else { return Ok(Progress::Idle) };
        let (outcome, delay_ms) = memory.scripted.answer(&effect.request);
        memory.now += Millis::try_from(delay_ms).unwrap();
        Ok(Progress::Completed(Completion { id: effect.id, at: memory.now, outcome }))
    }

    fn stop(&mut self) {
        self.lock().running.clear();
    }
}

impl Clock for Part {
    async fn now(&mut self) -> Result<Millis, Refusal> {
        Ok(self.lock().now)
    }
}

#[derive(Default)]
struct Notices(Vec<Notice>);

impl Publisher for Notices {
    fn add_notices(&mut self, notices: &mut Vec<Notice>) {
        self.0.append(notices);
    }

    fn read_notices<T>(&self, read: impl FnOnce(&[Notice]) -> T) -> T {
        read(&self.0)
    }

    fn publish(&mut self) {}

    fn start_effect(&mut self, _effect: &Effect) -> Option<TokenPublisher> {
        None
    }

    fn finish_effect(&mut self, _completion: &Completion) {}
}

/// How a turn ended: its outcome, its state hash and the number of points that it crossed.
struct Ended {
    outcome: Outcome,
    hash: String,
    points: usize,
    scripted: Scripted,
}

/// Drives a turn to its end; one that is stopped is continued from its stored journal, as another process would.
fn drive(input: &TurnInput, config: &Arc<Config>, scripted: &Scripted, stop_at: Option<usize>) -> Ended {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let part = Part::default();
    *part.lock() = Memory { scripted: scripted.clone(), now: input.at, stop_at, ..Memory::default() };
    let run = |mut turn: Turn, slice: Slice| {
        let mut publisher = Notices::default();
        let (mut store, mut effects, mut clock) = (part.clone(), part.clone(), part.clone());
        let mut parts = TurnRuntime { store: &mut store, effects: &mut effects, clock: &mut clock, publisher: &mut publisher };
        let outcome = runtime.block_on(parts.drive(&mut turn, slice));
        outcome.map(|outcome| (state_hash(&outcome, &publisher.0), outcome))
    };
    let start = || Turn::start(input.clone(), Arc::clone(config)).unwrap();
    let (turn, slice) = start();
    let ended = run(turn, slice).or_else(|refusal| {
        assert!(stop_at.is_some() && !part.lock().is_committed, "{refusal}");
        let stored = part.lock().stored.take();
        part.lock().running.clear();
        let (journal, kept) = stored.map_or((None, scripted.clone()), |(journal, scripted)| (Some(journal), scripted));
        part.lock().scripted = kept;
        let (turn, slice) = match journal {
            Some(journal) => {
                let RescuedTurn { turn, slice, divergence } = Turn::rescue(&journal, Arc::clone(config)).unwrap();
                assert!(divergence.is_none(), "{divergence:?}");
                part.lock().now = turn.now();
                (turn, slice)
            }
            None => start(),
        };
        run(turn, slice)
    });
    let (hash, outcome) = ended.unwrap();
    let memory = part.lock();
    assert!(memory.is_committed);
    Ended { outcome, hash, points: memory.crossed, scripted: memory.scripted.clone() }
}

/// The points of a turn at which it is stopped; of a longer one, whose every stop takes a whole turn, some all over it.
const MAX_POINTS: usize = 24;

/// Plays a pack; returns the number of points at which its turns were stopped.
fn play(case: &Case) -> usize {
    let config = Arc::new(case.pack.compile().0);
    let mut player = CorePlayer::new(&case.pack, Suspend::Never);
    let (mut conversations, mut scripted) = (Conversations::default(), Scripted::from_pack(&case.pack));
    let mut stopped = 0;
    for turn in 0..case.pack.turns.len() {
        // Turns that change the configuration, or that no message begins, are not those of a runner.
        let (Some(message), Ok(expected)) = (case.pack.message(turn), player.play(turn)) else { break };
        if case.pack.turns[turn].admin_sql.is_some() {
            break;
        }
        let kinds = expected.journal.entries.iter().filter_map(|entry| entry.request.as_ref()?.get("kind")?.as_str());
        if kinds.into_iter().any(|it| LOCAL_SERVICES.contains(&it)) {
            break;
        }
        let input = message.into_input(&conversations, config.program());
        scripted.begin_turn(&input);
        let ended = drive(&input, &config, &scripted, None);
        assert_eq!(ended.hash, expected.state_hash, "{} turn {turn}", case.pack.name);
        for point in (1..=ended.points).step_by(ended.points.div_ceil(MAX_POINTS).max(1)) {
            let again = drive(&input, &config, &scripted, Some(point));
            assert_eq!(
                (again.hash, again.outcome),
                (ended.hash.clone(), ended.outcome.clone()),
                "{} turn {turn} at {point}",
                case.pack.name
            );
            stopped += 1;
        }
        conversations.commit(&ended.outcome);
        scripted = ended.scripted;
    }
    stopped
}

#[test]
#[on(no_database)]
fn turns_end_the_same_wherever_they_are_stopped() {
    let cases: Vec<Case> = corpus().unwrap().into_iter().chain(flows().unwrap()).step_by(4).collect();
    let stopped: usize = cases.iter().map(play).sum();
    assert!(stopped > 500, "only {stopped} points");
}
