//! Measures replays per second: `test-tools replay PACK SECONDS`, for a pack whose turns request no effects.
//!
//! Prints the rates with audit level ALL and without audit, on one core and on all cores, and as a baseline the rate at which journals
//! are only decoded.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use convengine_core::config::Config;
use convengine_core::pack::Pack;
use convengine_core::turn::{Journal, Turn};
use convengine_storage::turn::{compress, decompress};
use convengine_tests::effect_free::EffectFreePack;
use serde_json::json;

/// Runs the command.
pub fn run(words: &[&str]) -> Result<()> {
    let [pack, seconds] = words else { bail!("usage: test-tools replay PACK SECONDS") };
    let time = Duration::from_secs(seconds.parse().context("SECONDS is not a number")?);
    let pack = Pack::parse(&std::fs::read_to_string(Path::new(pack))?)?;
    let cores = std::thread::available_parallelism()?.get();
    let mut silent = pack.clone();
    silent.settings["audit"]["enabled"] = json!(false);
    let (whole, silent) = (RecordedConversation::from_pack(&pack)?, RecordedConversation::from_pack(&silent)?);
    println!(
        "{}",
        json!({
            "cores": cores,
            "journals_read": whole.measure_rate(1, time, RecordedConversation::decode)?,
            "replayed": whole.measure_rate(1, time, RecordedConversation::replay)?,
            "replayed_all_cores": whole.measure_rate(cores, time, RecordedConversation::replay)?,
            "without_audit": silent.measure_rate(1, time, RecordedConversation::replay)?,
            "without_audit_all_cores": silent.measure_rate(cores, time, RecordedConversation::replay)?,
        })
    );
    Ok(())
}

/// The journals of a conversation, with its configuration.
struct RecordedConversation {
    config: Arc<Config>,
    journals: Vec<Vec<u8>>,
}

impl RecordedConversation {
    fn from_pack(pack: &Pack) -> Result<RecordedConversation> {
        let mut journals = Vec::new();
        EffectFreePack::from_pack(pack)?.play(|ended| {
            journals.push(compress(ended.turn.journal())?);
            Ok(())
        })?;
        Ok(RecordedConversation { config: Arc::new(Config::compile(&pack.tables, &pack.settings).0), journals })
    }

    fn decode(&self, bytes: &[u8]) -> Result<Journal> {
        decompress(bytes).context("cannot read a journal")
    }

    fn replay(&self, bytes: &[u8]) -> Result<Journal> {
        let journal = decompress(bytes)?;
        let (turn, slice) = Turn::restore(journal, Arc::clone(&self.config))?;
        slice.end.context("the turn has no end")?;
        Ok(turn.journal().clone())
    }

    /// Returns the turns per second.
    fn measure_rate(&self, threads: usize, time: Duration, each: fn(&RecordedConversation, &[u8]) -> Result<Journal>) -> Result<u64> {
        let count = AtomicU64::new(0);
        let start = Instant::now();
        std::thread::scope(|scope| {
            let run = || -> Result<()> {
                for journal in self.journals.iter().cycle() {
                    std::hint::black_box(each(self, journal)?);
                    count.fetch_add(1, Ordering::Relaxed);
                    if start.elapsed() >= time {
                        break;
                    }
                }
                Ok(())
            };
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
            running.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| bail!("a replay panicked")))
        })?;
        Ok(count.load(Ordering::Relaxed) * 1_000_000 / u64::try_from(start.elapsed().as_micros()).unwrap_or(1).max(1))
    }
}
