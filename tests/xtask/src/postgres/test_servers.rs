//! The PostgreSQL servers of the tests.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::{Durability, Postgres, pgvector};
use crate::install;
use crate::project::Project;

/// The variable with the URL of a server that has the extension `vector`, without a database, for the tests.
const VECTOR_URL_VARIABLE: &str = "CONVENGINE_TEST_PGVECTOR";

/// The extension.
const EXTENSION: &str = "vector";

/// The variable with the program that dumps a database of the server.
const DUMP_VARIABLE: &str = "CONVENGINE_PG_DUMP";

/// A server, and one with the extension `vector`, which is the same if it has it.
pub struct TestServers {
    main: Postgres,
    with_vector: Option<Postgres>,
}

impl TestServers {
    /// Installs what is missing; returns the archive of the server with the extension, unless the other server has it.
    pub fn install(project: &Project) -> Result<Option<PathBuf>> {
        let programs = install::ensure_postgres()?;
        let has_vector = || programs.has_extension(EXTENSION);
        let found = has_vector() || install::install_pgvector(programs.version) && has_vector();
        if found { Ok(None) } else { pgvector::download(project).map(Some) }
    }

    /// Starts the servers; installs what is missing.
    pub fn start(project: &Project) -> Result<Self> {
        let archive = Self::install(project)?;
        let main = Postgres::start(Durability::Relaxed)?;
        let with_vector = archive.map(|archive| Postgres::start_from_package(&archive, Durability::Relaxed)).transpose()?;
        Ok(Self { main, with_vector })
    }

    /// Passes the URLs of the servers, and the program that dumps databases, to a command.
    pub fn pass_urls_to<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let with_vector = self.with_vector.as_ref().unwrap_or(&self.main);
        self.main.pass_url_to(command).env(VECTOR_URL_VARIABLE, with_vector.url()).env(DUMP_VARIABLE, self.main.program("pg_dump"))
    }
}
