//! The journal target: journals as JSON and in their stored, compressed form.

use std::sync::{Arc, OnceLock};

use anyhow::Result;
use convengine_core::config::Config;
use convengine_core::turn::{CancelReason, Journal, Turn};
use convengine_storage::turn::{compress, decompress};

use super::super::{FuzzResult, Target, seeds};
use super::{describe_error, require};

/// Journals.
pub const JOURNAL: Target = Target { name: "journal", seeds: journals, read: read_journal };

const PACKS: [&str; 3] = ["model_acts.json", "loan.json", "card_replacement.json"];

fn journals() -> Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for name in PACKS {
        all.extend(seeds::journals(&seeds::demo(name)?)?);
    }
    Ok(all)
}

/// Returns the configurations of the journals.
fn configs() -> &'static [Arc<Config>] {
    static CONFIGS: OnceLock<Vec<Arc<Config>>> = OnceLock::new();
    CONFIGS.get_or_init(|| {
        let packs = PACKS.iter().filter_map(|name| seeds::demo(name).ok());
        packs.map(|pack| Arc::new(Config::compile(&pack.tables, &pack.settings).0)).collect()
    })
}

fn read_journal(input: &[u8]) -> FuzzResult {
    let read = if input.first() == Some(&b'{') {
        serde_json::from_slice::<Journal>(input).map_err(|it| it.to_string())
    } else {
        decompress(input).map_err(|it| it.to_string())
    };
    let journal = match read {
        Ok(journal) => journal,
        Err(reason) => return Ok(describe_error(reason)),
    };
    let text = serde_json::to_string(&journal).map_err(|it| format!("cannot be serialized: {it}"))?;
    let again: Journal = serde_json::from_str(&text).map_err(|it| format!("cannot be read back: {it}"))?;
    require(serde_json::to_string(&again).ok().as_ref() == Some(&text), || "differs when read back".to_owned())?;
    let column = compress(&journal).map_err(|it| format!("cannot be compressed: {it}"))?;
    require(decompress(&column).is_ok_and(|it| it == again), || "differs when decompressed".to_owned())?;
    if let Err(reason) = journal.check_protocol() {
        return Ok(describe_error(reason));
    }
    let config =
        configs().iter().find(|config| config.hash_source() == journal.header.config).or(configs().first()).ok_or("no configuration")?;
    Ok(match Turn::restore(journal, Arc::clone(config)) {
        Ok((mut turn, slice)) => {
            let ended = slice.end.is_some();
            let last = turn.cancel(CancelReason::Timeout, turn.now()).map_err(|it| format!("cannot be canceled: {it}"))?;
            require(ended != last.end.is_some(), || "ends twice or never".to_owned())?;
            format!("{ended} {}", slice.notices.len().min(40))
        }
        Err(reason) => describe_error(reason),
    })
}
