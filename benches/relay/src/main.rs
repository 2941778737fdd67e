//! Rate and memory of the scheduler over real sockets, beside those of a bare relay.

mod figures;
mod fleet;
mod frames;
mod node;
mod process;
mod server;
mod talker;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};
use figures::Figures;
use fleet::{Fleet, Load};
use frames::Row;
use process::{Server, Usage};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Drive the scheduler and a bare WebSocket relay with the same frames, on the same sockets.
#[derive(Debug, Parser)]
#[command(name = "relay")]
struct Args {
    #[command(subcommand)]
    command: Cmd,
}

#[derive(Debug, Subcommand)]
enum Cmd {
    /// Relay frames between clients and nodes, knowing nothing of them
    Serve {
        #[arg(long, default_value = "127.0.0.1:0")]
        listen: SocketAddr,
        #[arg(long, value_enum, default_value_t = Row::Opus)]
        row: Row,
    },
    /// Drive a server that runs already
    Drive {
        #[arg(long)]
        target: SocketAddr,
        #[arg(long, value_enum, default_value_t = Row::Opus)]
        row: Row,
        #[command(flatten)]
        load: Load,
    },
    /// Drive the scheduler and the relay by turns and give the ratio of their rates
    Compare {
        /// The scheduler's program; several, e.g. before and after a change, take turns
        #[arg(long, default_value = "target/release/lingua")]
        lingua: Vec<PathBuf>,
        /// Absent: all three
        #[arg(long, value_enum)]
        row: Option<Row>,
        /// Turns of each
        #[arg(long, default_value_t = 3)]
        rounds: u32,
        #[command(flatten)]
        load: Load,
    },
    /// Open the sockets and tell what each costs in resident memory
    Hold {
        /// The scheduler's program
        #[arg(long, default_value = "target/release/lingua")]
        lingua: PathBuf,
        #[command(flatten)]
        load: Load,
    },
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The operating system refused the program something.
    #[error("the operating system refused: {0}")]
    System(#[from] std::io::Error),
    /// A server did not start.
    #[error("{what} did not start: {source}: build it with cargo build --release")]
    Start {
        /// Its program.
        what: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A socket could not be opened.
    #[error(transparent)]
    Connect(#[from] lingua_loadgen::socket::ConnectError),
    /// A socket was closed while the others were opened.
    #[error("the server closed a socket before its first answer")]
    Gone,
    /// The first answer named no session.
    #[error("no session in the server's first answer: {0}")]
    Greeting(String),
    /// Nothing is known of a process.
    #[error("{path}: {source}: this needs Linux")]
    Usage {
        /// What was to be read.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
}

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Cmd::Serve { listen, row } => serve(listen, row),
        Cmd::Drive { target, row, load } => {
            // Of a server that it has not started it knows no process.
            drive(row, load, target, || Ok(Usage::default())).map(|figures| println!("{figures}"))
        }
        Cmd::Compare { lingua, row, rounds, load } => {
            let rows = row.map_or_else(|| Row::ALL.to_vec(), |row| vec![row]);
            rows.into_iter().try_for_each(|row| compare(&lingua, row, rounds, load))
        }
        Cmd::Hold { lingua, load } => hold(&lingua, load),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn serve(listen: SocketAddr, row: Row) -> Result<(), Failure> {
    Runtime::new()?.block_on(async {
        let listener = TcpListener::bind(listen).await?;
        println!("relaying on {}", listener.local_addr()?);
        Ok(server::serve(row, listener).await?)
    })
}

fn drive(
    row: Row,
    load: Load,
    target: SocketAddr,
    usage: impl Fn() -> Result<Usage, Failure>,
) -> Result<Figures, Failure> {
    let nodes = Runtime::new()?;
    Runtime::new()?.block_on(async {
        let fleet = Fleet::open(row, load, target, nodes.handle()).await?;
        fleet.count(usage).await
    })
}

fn scheduler(lingua: &Path) -> Command {
    let mut command = Command::new(lingua);
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    command
}

fn relay(row: Row) -> Result<Command, Failure> {
    use clap::ValueEnum;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["serve", "--row"]);
    command.args(row.to_possible_value().map(|value| value.get_name().to_owned()));
    Ok(command)
}

/// The machine's other work meets all alike when they take turns.
fn compare(programs: &[PathBuf], row: Row, rounds: u32, load: Load) -> Result<(), Failure> {
    let turn = |command| {
        let server = Server::start(command)?;
        drive(row, load, server.address, || server.usage())
    };
    let mut ratios = vec![Vec::new(); programs.len()];
    for _ in 0..rounds {
        let relay = turn(relay(row)?)?;
        println!("{row:?} relay {relay}");
        for (program, ratios) in programs.iter().zip(&mut ratios) {
            let ours = turn(scheduler(program))?;
            println!("{row:?} {} {ours}", program.display());
            ratios.push([
                ours.rate() / relay.rate(),
                relay.all_us() / ours.all_us(),
                relay.server_us() / ours.server_us(),
            ]);
        }
    }
    for (program, ratios) in programs.iter().zip(&ratios) {
        let [rates, all, server] = [0, 1, 2].map(|at| median(ratios.iter().map(|ratio| ratio[at])));
        let program = program.display();
        println!(
            "{row:?} {program}: ratio of rates {rates:.2}, of jobs per processor second of both \
             processes {all:.2}, of the servers alone {server:.2}"
        );
    }
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn hold(lingua: &Path, load: Load) -> Result<(), Failure> {
    let server = Server::start(scheduler(lingua))?;
    let nodes = Runtime::new()?;
    Runtime::new()?.block_on(async {
        let before = (server.usage()?, Usage::of_this_process()?);
        // Nobody speaks: the first word is due after the last second.
        let silent = Load { rate: Some(1e-6), ..load };
        let fleet = Fleet::open(Row::Small, silent, server.address, nodes.handle()).await?;
        let figures = fleet.count(|| server.usage()).await?;
        let after = (server.usage()?, Usage::of_this_process()?);
        let each = |before: Usage, after: Usage| {
            (after.resident - before.resident) as f64 / 1024.0 / load.sockets() as f64
        };
        println!(
            "{} sockets: {:.2} KiB each in the server, {:.2} KiB each here\n{figures}",
            load.sockets(),
            each(before.0, after.0),
            each(before.1, after.1),
        );
        Ok(())
    })
}
