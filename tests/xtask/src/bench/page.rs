//! Timings of the page: loading, turns, and moving the cursor in a long conversation.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Bench, PACK, Target};
use crate::wasm::{self, Module};
use crate::{install, page, sh};

/// The sample that the page opens with.
const SAMPLE: &str = "tests/packs/demo/loan.json";

/// The timings, as `web-demo/test/bench.mjs` prints them.
pub struct Page(Value);

impl Page {
    /// Opens the page `rounds` times, over throttled connections.
    pub fn measure(bench: &Bench<'_>, rounds: usize) -> Result<Self> {
        install::ensure_chromium()?;
        page::build(bench.project)?;
        sh::print_progress("timing the page");
        let (dist, module) = (page::folder(bench.project), wasm::module_path(bench.project, Module::Engine));
        let engine = module.parent().context("the engine has no folder")?;
        let mut node = bench.project.command("node");
        node.arg("web-demo/test/bench.mjs").arg(dist).args([SAMPLE, PACK]).arg(engine).arg(rounds.to_string());
        let output = sh::output(&mut node).context("timing the page failed")?;
        Ok(Self(serde_json::from_str(&output)?))
    }

    /// Prints the table.
    pub fn print(&self) {
        println!("\n{:<52}{:>12}{:>12}{:>12}", "the page, ms since navigation; 40 ms latency", "empty page", "cached", "first time");
        for load in self.loads() {
            let rate = megabits(load);
            let ms = |name: &str, what: &str| number(load, &[name], what);
            let row = |title: &str, what: &str, first: String| {
                println!("{:<52}{first:>12}{:>12.0}{:>12.0}", format!("{rate} Mbit/s: {title}"), ms("warm", what), ms("cold", what));
            };
            row("accepts input", "usable", format!("{:.0}", number(load, &[], "empty")));
            row("engine ready", "ready", "-".to_owned());
        }
        let cursor = |what: &str| number(&self.0, &["cursor"], what);
        println!("\n{:<52}{:>12}", "ms in the page", "");
        for (what, ms) in [
            ("a turn of the loan sample, in the page's worker", number(&self.0, &["page"], "mean")),
            ("the same turn by the engine alone, in Node.js", number(&self.0, &["engine"], "mean")),
            ("a turn of a long conversation, with all panels", cursor("shown")),
            ("moving its cursor, median", cursor("median")),
            ("moving its cursor, p95", cursor("p95")),
        ] {
            println!("{what:<52}{ms:>12.1}");
        }
        println!("{:<52}{:>12.0}", "cursor positions of the long conversation", cursor("places"));
    }

    /// Returns the targets.
    pub fn targets(&self) -> Vec<Target> {
        let at_most = |what: String, measured: f64, limit: f64| Target {
            label: format!("{what} at most {limit} ms"),
            measured: format!("{measured:.1} ms"),
            met: Some(measured <= limit),
        };
        let mut aims = Vec::new();
        for (load, usable, ready) in self.loads().iter().zip([(1000.0, 1200.0), (1500.0, 3500.0)]).map(|(load, it)| (load, it.0, it.1)) {
            let rate = megabits(load);
            aims.push(at_most(format!("page, {rate} Mbit/s: accepts input after"), number(load, &["cold"], "usable"), usable));
            aims.push(at_most(format!("page, {rate} Mbit/s: engine ready after"), number(load, &["cold"], "ready"), ready));
        }
        let warm = self.loads().first().map_or(0.0, |it| number(it, &["warm"], "ready"));
        aims.push(at_most("page, cached by the browser: engine ready after".to_owned(), warm, 300.0));
        aims.push(at_most("page: a turn without live effects".to_owned(), number(&self.0, &["page"], "mean"), 3.0));
        aims.push(at_most(
            "page: moving the cursor among 10,000 positions, median".to_owned(),
            number(&self.0, &["cursor"], "median"),
            50.0,
        ));
        aims
    }

    fn loads(&self) -> &[Value] {
        self.0.get("loads").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
}

fn megabits(load: &Value) -> f64 {
    number(load, &[], "bits") / 1_000_000.0
}

fn number(figures: &Value, within: &[&str], name: &str) -> f64 {
    let found = within.iter().try_fold(figures, |it, key| it.get(key));
    found.and_then(|it| it.get(name)).and_then(Value::as_f64).unwrap_or_default()
}
