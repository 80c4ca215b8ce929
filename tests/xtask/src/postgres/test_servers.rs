//! The PostgreSQL servers of the tests.

use std::process::Command;

use anyhow::Result;

use super::{Durability, Postgres, pgvector};
use crate::install;
use crate::project::Project;

/// The variable with the URL of a server that has the extension `vector`, without a database, for the tests.
const VECTOR_URL_VARIABLE: &str = "CONVENGINE_TEST_PGVECTOR";

/// The variable with the program that dumps a database of the server.
const DUMP_VARIABLE: &str = "CONVENGINE_PG_DUMP";

/// A server, and one with the extension `vector`, which is the same if it has it.
pub struct TestServers {
    main: Postgres,
    with_vector: Option<Postgres>,
}

impl TestServers {
    /// Starts the servers; installs what is missing.
    pub fn start(project: &Project) -> Result<Self> {
        let main = Postgres::start(Durability::Relaxed)?;
        let has_vector = || Ok::<_, anyhow::Error>(!main.query("postgres", AVAILABLE)?.is_empty());
        let found = has_vector()? || install::install_pgvector(main.programs.version) && has_vector()?;
        let with_vector =
            if found { None } else { Some(Postgres::start_from_package(&pgvector::download(project)?, Durability::Relaxed)?) };
        Ok(Self { main, with_vector })
    }

    /// Passes the URLs of the servers, and the program that dumps databases, to a command.
    pub fn pass_urls_to<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let with_vector = self.with_vector.as_ref().unwrap_or(&self.main);
        self.main.pass_url_to(command).env(VECTOR_URL_VARIABLE, with_vector.url()).env(DUMP_VARIABLE, self.main.program("pg_dump"))
    }
}

/// Finds the extension among those that can be created.
const AVAILABLE: &str = "select name from pg_available_extensions where name = 'vector'";
