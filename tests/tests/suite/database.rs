//! The databases of tests: each environment has its own, on SQLite or PostgreSQL, and a connection to it beside the server's.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use convengine_test_macros::test;
use convengine_tests::server_binary;
use convengine_tests::soak::database::DatabaseKind;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Row};
use tokio::runtime::{Builder, Runtime};

use crate::harness::{TIMEOUT, wait_until};
use crate::running::{Environment, environment};

/// The database of an environment.
pub enum Database {
    /// A file, deleted with the folder.
    Sqlite(PathBuf),
    /// A database on a server, dropped with this value.
    Postgres { server: String, name: String },
}

/// The PostgreSQL server that `cargo xtask` started and whose URL it passes in a variable.
#[track_caller]
fn postgres_server(variable: &str) -> String {
    let found = std::env::var(variable);
    found.unwrap_or_else(|_| panic!("this test needs PostgreSQL: run it as `cargo xtask postgres -- cargo test …`, which sets {variable}"))
}

/// The kind of database that the running test stores in.
#[track_caller]
pub fn database_kind() -> DatabaseKind {
    match environment() {
        Environment::Sqlite | Environment::Browser => DatabaseKind::Sqlite,
        Environment::Postgres => DatabaseKind::Postgres(postgres_server("CONVENGINE_TEST_POSTGRES")),
        Environment::Pgvector => DatabaseKind::Postgres(postgres_server("CONVENGINE_TEST_PGVECTOR")),
        Environment::NoDatabase => panic!("this test is declared to use no database"),
    }
}

impl Database {
    /// A new database. On SQLite the first connection creates it; on PostgreSQL it exists and is empty.
    pub fn new_empty(kind: DatabaseKind, folder: &Path, name: &str) -> Database {
        match kind {
            DatabaseKind::Sqlite => Database::Sqlite(folder.join("test.db")),
            DatabaseKind::Postgres(server) => Database::on_postgres(server, name),
        }
    }

    /// A database with our tables: a copy of one that the program migrates once, because migrating takes longer than most tests.
    pub fn with_tables(kind: DatabaseKind, folder: &Path, name: &str) -> Database {
        match kind {
            DatabaseKind::Sqlite => {
                let file = folder.join("test.db");
                // As the server creates it: a file that others can read is reported.
                let mut created = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file).unwrap();
                created.write_all(sqlite_template()).unwrap();
                Database::Sqlite(file)
            }
            DatabaseKind::Postgres(server) => {
                copy_on_postgres(&server, &postgres_template(&server), name);
                Database::Postgres { server, name: name.to_owned() }
            }
        }
    }

    /// An empty database of this name on a server.
    fn on_postgres(server: String, name: &str) -> Database {
        administer(&server, &format!("create database \"{name}\" template template0 strategy file_copy"));
        Database::Postgres { server, name: name.to_owned() }
    }

    /// Makes the database unreachable: on SQLite for servers that start from now on, on PostgreSQL also for those that run.
    pub fn take_away(&self) {
        match self {
            Database::Sqlite(file) => {
                fs::rename(file, file.with_extension("away")).unwrap();
                fs::create_dir(file).unwrap();
            }
            Database::Postgres { server, name } => {
                administer(server, &format!("alter database \"{name}\" with allow_connections false"));
                administer(server, &format!("select pg_terminate_backend(pid)::text from pg_stat_activity where datname = '{name}'"));
            }
        }
    }

    /// Makes a database that was taken away reachable again.
    pub fn bring_back(&self) {
        match self {
            Database::Sqlite(file) => {
                fs::remove_dir(file).unwrap();
                fs::rename(file.with_extension("away"), file).unwrap();
            }
            Database::Postgres { server, name } => {
                administer(server, &format!("alter database \"{name}\" with allow_connections true"));
            }
        }
    }

    fn migrate(&self) {
        let made = Command::new(server_binary().unwrap()).args(["migrate", "--database", &self.url()]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    }

    pub fn url(&self) -> String {
        match self {
            Database::Sqlite(file) => format!("sqlite:{}", file.display()),
            Database::Postgres { server, name } => format!("{server}/{name}"),
        }
    }

    /// Whether the file does not exist or the database has no tables.
    pub fn is_empty(&self) -> bool {
        match self {
            Database::Sqlite(file) => !file.exists(),
            Database::Postgres { .. } => Sql::open(self).dump().is_empty(),
        }
    }

    /// Makes another database of the same kind equal to this one.
    pub fn copy_to(&self, other: &Database) {
        match (self, other) {
            (Database::Sqlite(file), Database::Sqlite(other)) => {
                Sql::open(self).run("pragma wal_checkpoint(truncate)");
                fs::copy(file, other).unwrap();
            }
            (Database::Postgres { server, name }, Database::Postgres { name: other, .. }) => {
                // Sessions of a stopped server stay connected for a moment.
                administer(server, &format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"));
                let count = format!("select count(*) from pg_stat_activity where datname = '{name}'");
                assert!(wait_until(|| administer(server, &count) == ["0"]), "{name} still has connections");
                administer(server, &format!("drop database \"{other}\""));
                copy_on_postgres(server, name, other);
            }
            _ => panic!("the databases are of different kinds"),
        }
    }
}

/// Creates a database as a copy of another one.
///
/// Files are copied as they are: through the buffers and the log of the server it takes twice as long.
fn copy_on_postgres(server: &str, from: &str, name: &str) {
    administer(server, &format!("create database \"{name}\" template \"{from}\" strategy file_copy"));
}

/// The bytes of an SQLite file with our tables.
fn sqlite_template() -> &'static [u8] {
    static TEMPLATE: OnceLock<Vec<u8>> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("convengine-suite-{}-tables", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let template = Database::Sqlite(folder.join("tables.db"));
        template.migrate();
        Sql::open(&template).run("pragma wal_checkpoint(truncate)");
        let bytes = fs::read(folder.join("tables.db")).unwrap();
        fs::remove_dir_all(folder).unwrap();
        bytes
    })
}

/// The name of a database with our tables on a server, which is deleted with the server.
fn postgres_template(server: &str) -> String {
    static MIGRATED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let name = format!("convengine-suite-{}-tables", std::process::id());
    let mut migrated = MIGRATED.lock().unwrap();
    if !migrated.contains(server) {
        ManuallyDrop::new(Database::on_postgres(server.to_owned(), &name)).migrate();
        migrated.insert(server.to_owned());
    }
    name
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Database::Postgres { server, name } = self
            && !std::thread::panicking()
        {
            administer(server, &format!("drop database if exists \"{name}\" with (force)"));
        }
    }
}

/// Runs a statement on the server's maintenance database.
fn administer(server: &str, sql: &str) -> Vec<String> {
    Sql::connect_postgres(&format!("{server}/postgres")).texts(sql)
}

/// A connection to a test's database beside the server's.
pub struct Sql {
    runtime: Runtime,
    connection: Connection,
}

enum Connection {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Sql {
    pub fn open(database: &Database) -> Sql {
        let Database::Sqlite(file) = database else { return Sql::connect_postgres(&database.url()) };
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let options = SqliteConnectOptions::new().filename(file).create_if_missing(true).busy_timeout(TIMEOUT).foreign_keys(false);
        let connection = Connection::Sqlite(runtime.block_on(options.connect()).unwrap());
        Sql { runtime, connection }
    }

    /// Connects to a PostgreSQL database.
    fn connect_postgres(url: &str) -> Sql {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let options: PgConnectOptions = url.parse().unwrap();
        let connection =
            runtime.block_on(options.options([("timezone", "UTC")]).connect()).unwrap_or_else(|error| panic!("{url}: {error}"));
        Sql { runtime, connection: Connection::Postgres(connection) }
    }

    /// Runs a statement; on PostgreSQL also several.
    pub fn run(&mut self, sql: &str) {
        let statement = AssertSqlSafe(sql.to_owned());
        match &mut self.connection {
            Connection::Sqlite(to) => drop(expect_ok(sql, self.runtime.block_on(sqlx::query(statement).execute(to)))),
            Connection::Postgres(to) => drop(expect_ok(sql, self.runtime.block_on(sqlx::raw_sql(statement).execute(to)))),
        }
    }

    /// Runs any number of statements.
    pub fn run_script(&mut self, sql: &str) {
        let statements = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        match &mut self.connection {
            Connection::Sqlite(to) => drop(self.runtime.block_on(statements.execute(to)).unwrap()),
            Connection::Postgres(to) => drop(self.runtime.block_on(statements.execute(to)).unwrap()),
        }
    }

    /// The rows of a query with one text column.
    ///
    /// On PostgreSQL a value of any type is returned in the server's text form.
    pub fn texts(&mut self, sql: &str) -> Vec<String> {
        match &mut self.connection {
            Connection::Sqlite(connection) => {
                let query = sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_all(connection);
                expect_ok(sql, self.runtime.block_on(query))
            }
            Connection::Postgres(connection) => {
                let query = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).fetch_all(connection);
                let rows = expect_ok(sql, self.runtime.block_on(query));
                let text = |row: &sqlx::postgres::PgRow| row.try_get_raw(0).unwrap().as_str().map(str::to_owned);
                rows.iter().map(|row| text(row).unwrap_or_else(|error| panic!("{sql}: {error}"))).collect()
            }
        }
    }

    pub fn is_postgres(&self) -> bool {
        matches!(self.connection, Connection::Postgres(_))
    }

    /// The SQL expression for the hexadecimal digits of a column of bytes.
    pub fn hex_expression(&self, column: &str) -> String {
        match self.connection {
            Connection::Sqlite(_) => format!("hex({column})"),
            Connection::Postgres(_) => format!("upper(encode({column}, 'hex'))"),
        }
    }

    /// The SQL literal of bytes.
    pub fn bytes_literal(&self, hex: &str) -> String {
        match self.connection {
            Connection::Sqlite(_) => format!("x'{hex}'"),
            Connection::Postgres(_) => format!("'\\x{hex}'::bytea"),
        }
    }

    /// All rows and definitions in the database: equal when nothing changed.
    pub fn dump(&mut self) -> Vec<String> {
        match self.connection {
            Connection::Sqlite(_) => self.dump_sqlite(),
            Connection::Postgres(_) => self.dump_postgres(),
        }
    }

    fn dump_sqlite(&mut self) -> Vec<String> {
        let mut all = self.texts("select coalesce(sql, name) from sqlite_master order by name");
        // Without the security log, which grows with each change, and its sequence.
        let tables =
            "select name from sqlite_master where type = 'table' and name not in ('cv_security_log', 'sqlite_sequence') order by name";
        for table in self.texts(tables) {
            let columns =
                self.texts(&format!("select group_concat('quote(' || name || ')', ' || '','' || ') from pragma_table_info('{table}')"));
            all.push(table.clone());
            all.extend(self.texts(&format!("select {} from {table} order by 1", columns[0])));
        }
        all
    }

    /// Without sequences, which advance even when a transaction is rolled back.
    fn dump_postgres(&mut self) -> Vec<String> {
        let mut all = self.texts(
            "select concat_ws(' ', table_name, ordinal_position, column_name, data_type, is_nullable, column_default)
             from information_schema.columns where table_schema = 'public' order by table_name, ordinal_position",
        );
        all.extend(self.texts("select indexdef from pg_indexes where schemaname = 'public' order by 1"));
        all.extend(self.texts(
            "select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
             where connamespace = 'public'::regnamespace order by 1",
        ));
        let tables = "select tablename from pg_tables where schemaname = 'public' and tablename <> 'cv_security_log' order by 1";
        for table in self.texts(tables) {
            all.push(table.clone());
            all.extend(self.texts(&format!("select row_to_json(it)::text from \"{table}\" it order by 1")));
        }
        all
    }
}

/// Unwraps the outcome of a statement, naming the statement.
fn expect_ok<T>(sql: &str, outcome: sqlx::Result<T>) -> T {
    outcome.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// On SQLite it is a file of its own.
#[test]
#[on(postgres)]
fn each_environment_has_its_own_database() {
    let name = format!("convengine-own-{}", std::process::id());
    let DatabaseKind::Postgres(server) = database_kind() else { panic!("the test is about PostgreSQL") };
    let (one, other) = (Database::on_postgres(server.clone(), &name), Database::on_postgres(server.clone(), &format!("{name}-other")));
    let mut sql = Sql::open(&one);
    let empty = sql.dump();
    assert_eq!(Sql::open(&other).dump(), empty);
    sql.run("create table theirs (id uuid primary key, at timestamptz, flag bool, bytes bytea); create index their_own on theirs (flag)");
    let bytes = sql.bytes_literal("00ff");
    sql.run(&format!("insert into theirs values ('5b1f9a52-8f0e-4c3e-8a53-1c9f0c1b2a02', '2025-01-02 03:04:05', true, {bytes})"));
    let hex = sql.hex_expression("bytes");
    assert_eq!(
        sql.texts(&format!("select concat_ws(' ', id, at, flag, {hex}) from theirs")),
        ["5b1f9a52-8f0e-4c3e-8a53-1c9f0c1b2a02 2025-01-02 03:04:05+00 t 00FF"]
    );
    let all = sql.dump();
    assert!(["theirs 1 id uuid NO", "their_own", "\\\\x00ff"].iter().all(|words| all.iter().any(|line| line.contains(words))), "{all:#?}");
    assert_eq!(Sql::open(&other).dump(), empty);
    drop(sql);
    one.copy_to(&other);
    assert_eq!(Sql::open(&other).dump(), all);
    drop((one, other));
    assert_eq!(administer(&server, &format!("select count(*) from pg_database where datname like '{name}%'")), ["0"]);
}
