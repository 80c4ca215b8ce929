//! The modules that the interpreter lacks, written in Python.

/// A module that we supply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supplied {
    /// Constants of characters, `capwords` and `Template`.
    String,
    /// Averages and measures of spread.
    Statistics,
}

impl Supplied {
    /// Finds a module by its name.
    pub fn find(name: &str) -> Option<Supplied> {
        [Supplied::String, Supplied::Statistics].into_iter().find(|it| it.name() == name)
    }

    /// Returns the name by which scripts import it.
    pub fn name(self) -> &'static str {
        match self {
            Supplied::String => "string",
            Supplied::Statistics => "statistics",
        }
    }

    /// Returns the variable that holds the module after its source has been run.
    pub fn variable(self) -> &'static str {
        match self {
            Supplied::String => "__string__",
            Supplied::Statistics => "__statistics__",
        }
    }

    /// Returns the source, which assigns the variable.
    pub fn source(self) -> &'static str {
        match self {
            Supplied::String => include_str!("string.py"),
            Supplied::Statistics => include_str!("statistics.py"),
        }
    }

    /// Returns whether the module has a member: whether its source assigns it.
    pub fn has_member(self, member: &str) -> bool {
        let assignment = format!("    module.{member} = ");
        self.source().lines().any(|it| it.starts_with(&assignment))
    }
}
