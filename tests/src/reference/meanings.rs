//! Meanings of names, as text files of the form `[section] text` and `name = text`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};

/// The meanings of one page, which notes what is missing and what is used.
#[derive(Debug)]
pub struct Meanings {
    file: &'static str,
    /// By section and name; the name of a section's own text is empty.
    texts: BTreeMap<(String, String), String>,
    /// Sections and names in the order of the file.
    order: Vec<(String, String)>,
    used: RefCell<BTreeSet<(String, String)>>,
    missing: RefCell<BTreeSet<String>>,
}

impl Meanings {
    /// Parses a file. Lines that begin with `#` are comments.
    ///
    /// # Errors
    /// For a line of another form, and for a name that occurs twice.
    pub fn parse(file: &'static str, text: &str) -> Result<Meanings> {
        let (mut texts, mut order) = (BTreeMap::new(), Vec::new());
        let mut section = String::new();
        for (number, line) in (1..).zip(text.lines()).filter(|numbered| !numbered.1.trim().is_empty() && !numbered.1.starts_with('#')) {
            let at = || format!("{file}:{number}: {line}");
            let (name, text) = if let Some(rest) = line.strip_prefix('[') {
                let (name, text) = rest.split_once(']').with_context(at)?;
                name.clone_into(&mut section);
                (String::new(), text)
            } else {
                let (name, text) = line.split_once(" =").with_context(at)?;
                (name.trim().to_owned(), text)
            };
            if name.is_empty() && text.trim().is_empty() {
                continue;
            }
            order.push((section.clone(), name.clone()));
            ensure!(texts.insert((section.clone(), name), text.trim().to_owned()).is_none(), "{} occurs twice", at());
        }
        Ok(Meanings { file, texts, order, used: RefCell::default(), missing: RefCell::default() })
    }

    /// Returns the text of a section; a missing one is a gap.
    pub fn section(&self, section: &str) -> String {
        self.get(section, "")
    }

    /// Returns the meaning of a name, from the section or from `*`; a missing one is a gap.
    pub fn get(&self, section: &str, name: &str) -> String {
        let found = self.find(section, name).or_else(|| self.find("*", name)).filter(|it| !it.is_empty());
        found.unwrap_or_else(|| {
            self.missing.borrow_mut().insert(format!("{}: [{section}] {name} has no meaning", self.file));
            String::new()
        })
    }

    /// Returns a text of the section if there is one.
    pub fn find(&self, section: &str, name: &str) -> Option<String> {
        let key = (section.to_owned(), name.to_owned());
        let text = self.texts.get(&key)?.clone();
        self.used.borrow_mut().insert(key);
        Some(text)
    }

    /// Returns the names of a section, in the order of the file.
    pub fn names(&self, section: &str) -> Vec<String> {
        self.order.iter().filter(|entry| entry.0 == section && !entry.1.is_empty()).map(|it| it.1.clone()).collect()
    }

    /// Returns missing and unused meanings, once the page is made.
    pub fn gaps(&self) -> Vec<String> {
        let used = self.used.borrow();
        let unused = self.texts.keys().filter(|it| !used.contains(*it));
        let unused = unused.map(|(section, name)| format!("{}: [{section}] {name} is the meaning of nothing", self.file));
        self.missing.borrow().iter().cloned().chain(unused).collect()
    }
}
