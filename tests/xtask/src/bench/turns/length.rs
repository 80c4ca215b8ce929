//! The cost of a turn by the length of its conversation.

use anyhow::Result;
use serde_json::Value;

use super::super::callgrind::CountedServer;
use super::super::database::{Database, Kind};
use super::super::server::{Load, Scenario, Server, read_pack};
use super::super::{Bench, Extent, Target};
use super::{Engine, NOW, all, flow, print_progress};
use crate::install;

/// The numbers of the turns, about: each window begins with the first message of the pack.
const TURNS: [u64; 4] = [1, 10, 100, 1_000];

/// The minimum number of turns in a window, over all connections: the processor time has a resolution of 10 ms.
const WINDOW_TURNS: u64 = 2_500;

const CONNECTIONS: u64 = 64;

/// The cost around one turn of a conversation.
struct Window {
    first_turn: u64,
    cpu_us: f64,
    /// Counted on SQLite only.
    instructions: Option<u64>,
}

struct Row {
    database: &'static str,
    scenario: &'static str,
    engine: &'static str,
    windows: Vec<Window>,
}

/// The costs.
pub struct Length(Vec<Row>);

impl Length {
    /// Plays long conversations and measures windows of them.
    pub fn measure(bench: &Bench<'_>, extent: Extent, kinds: &[Kind<'_>], engines: &[Engine]) -> Result<Self> {
        install::ensure_valgrind()?;
        let mut rows = Vec::new();
        for kind in kinds {
            for scenario in [all(), flow()] {
                print_progress("measuring long conversations", *kind, scenario);
                for engine in engines {
                    let windows = measure_windows(bench, extent, *kind, engine, scenario)?;
                    rows.push(Row { database: kind.name(), scenario: scenario.name, engine: engine.name, windows });
                }
            }
        }
        Ok(Self(rows))
    }

    /// Prints the table.
    pub fn print(&self) {
        println!(
            "\n{:<40}{:<9}{:>12}{:>16}{:>16}",
            "by the length of the conversation", "server", "from turn", "CPU µs/turn", "instructions"
        );
        for row in &self.0 {
            for window in &row.windows {
                let label = format!("{}, {}", row.database, row.scenario);
                let instructions = window.instructions.map_or("-".to_owned(), |it| it.to_string());
                println!("{label:<40}{:<9}{:>12}{:>16.0}{instructions:>16}", row.engine, window.first_turn, window.cpu_us);
            }
        }
    }

    /// Returns the targets.
    pub fn targets(&self) -> Vec<Target> {
        let mut targets = Vec::new();
        for row in self.0.iter().filter(|it| it.engine == NOW) {
            let label = format!("{}, {}: turn 1,000 to turn 10", row.database, row.scenario);
            if let [_, early, _, late] = row.windows.as_slice() {
                targets.push(Target::at_most(format!("{label}, CPU"), late.cpu_us / early.cpu_us, 1.1, 2, ""));
                if let Some((late, early)) = late.instructions.zip(early.instructions) {
                    targets.push(Target::at_most(format!("{label}, instructions"), late as f64 / early as f64, 1.1, 2, ""));
                }
            }
        }
        targets
    }
}

/// How a pack's messages repeat in a long conversation.
struct Cycle {
    /// The number of turns before the messages that repeat.
    before: u64,
    turns: u64,
}

impl Cycle {
    fn read(bench: &Bench<'_>, scenario: Scenario<'_>) -> Result<Self> {
        let pack = read_pack(bench, scenario.pack)?;
        let turns = pack.get("turns").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let of_session =
            |turn: &&Value| turn.pointer("/request/path").and_then(Value::as_str).is_some_and(|path| path.contains("${SESSION}"));
        let (all, repeated) = (turns.len() as u64, turns.iter().filter(of_session).count() as u64);
        Ok(if repeated == 0 { Cycle { before: 0, turns: all } } else { Cycle { before: all - repeated, turns: repeated } })
    }
}

fn measure_windows(bench: &Bench<'_>, extent: Extent, kind: Kind<'_>, engine: &Engine, scenario: Scenario<'_>) -> Result<Vec<Window>> {
    let cycle = Cycle::read(bench, scenario)?;
    // The cycle whose first turn is the nearest after the turn.
    let cycles: Vec<u64> = TURNS.iter().filter(|it| **it <= extent.longest).map(|turn| (turn - 1).div_ceil(cycle.turns)).collect();
    let cpu = measure_cpu(bench, kind, engine, scenario, &cycle, &cycles)?;
    let instructions = match kind {
        Kind::Sqlite => count_instructions(bench, kind, engine, scenario, &cycle, &cycles)?.into_iter().map(Some).collect(),
        Kind::Postgres(_) => vec![None; cycles.len()],
    };
    let window = |((at, cpu_us), instructions): ((&u64, f64), Option<u64>)| Window {
        first_turn: cycle.before + at * cycle.turns + 1,
        cpu_us,
        instructions,
    };
    Ok(cycles.iter().zip(cpu).zip(instructions).map(window).collect())
}

fn measure_cpu(
    bench: &Bench<'_>,
    kind: Kind<'_>,
    engine: &Engine,
    scenario: Scenario<'_>,
    cycle: &Cycle,
    cycles: &[u64],
) -> Result<Vec<f64>> {
    let database = Database::create(bench, kind, "length", &engine.program, scenario.pack)?;
    let server = Server::start_engine(bench, &engine.program, scenario, &database)?;
    let mut load = Load::connect(bench, &server, scenario.pack, CONNECTIONS as usize)?;
    let cpu_us = || anyhow::Ok(server.cpu_us()? + database.cpu_us()?);
    let mut played = 0;
    play_turns(&mut load, cycle.before)?;
    let mut measured = Vec::new();
    for (index, at) in cycles.iter().enumerate() {
        play_turns(&mut load, (at - played) * cycle.turns)?;
        // A window ends before the next one begins.
        let space = cycles.get(index + 1).map_or(u64::MAX, |next| next - at);
        let length = WINDOW_TURNS.div_ceil(CONNECTIONS * cycle.turns).min(space);
        let before = cpu_us()?;
        play_turns(&mut load, length * cycle.turns)?;
        measured.push((cpu_us()? - before) as f64 / (CONNECTIONS * length * cycle.turns) as f64);
        played = at + length;
    }
    Ok(measured)
}

fn count_instructions(
    bench: &Bench<'_>,
    kind: Kind<'_>,
    engine: &Engine,
    scenario: Scenario<'_>,
    cycle: &Cycle,
    cycles: &[u64],
) -> Result<Vec<u64>> {
    let database = Database::create(bench, kind, "length-counted", &engine.program, scenario.pack)?;
    let mut counted = CountedServer::start(bench, &engine.program, scenario, &database)?;
    // What is done once per process, such as preparing statements, is done by another conversation.
    Load::connect(bench, &counted.server, scenario.pack, 1)?.play("conversations:1")?;
    let mut load = Load::connect(bench, &counted.server, scenario.pack, 1)?;
    play_turns(&mut load, cycle.before)?;
    let mut played = 0;
    let mut measured = Vec::new();
    for at in cycles {
        play_turns(&mut load, (at - played) * cycle.turns)?;
        let ((), cost) = counted.count(|| play_turns(&mut load, cycle.turns))?;
        measured.push(cost.per(cycle.turns).instructions);
        played = at + 1;
    }
    Ok(measured)
}

fn play_turns(load: &mut Load, turns: u64) -> Result<()> {
    if turns > 0 {
        load.play(&format!("turns:{turns}"))?;
    }
    Ok(())
}
