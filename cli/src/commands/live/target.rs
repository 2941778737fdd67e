//! Which scheduler a command speaks to: one on another machine, or this program as one.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use lingua_loadgen::{Address, Program};

use crate::failure::Failure;

/// The address of a target that is another machine's; absent: it is this one.
pub(crate) fn elsewhere(url: &str) -> Result<Option<IpAddr>, Failure> {
    let address = Address::resolve(url)?;
    Ok((!address.is_loopback()).then(|| address.socket.ip()))
}

/// This program as a server by its defaults.
pub(crate) fn own_server() -> Result<Program, Failure> {
    serving(Vec::new(), None)
}

/// This program as the server of a scenario that is changed like this.
pub(crate) fn server_of(
    file: &Path,
    changes: &[String],
    log: Option<PathBuf>,
) -> Result<Program, Failure> {
    let mut rules = vec![file.display().to_string()];
    for change in changes {
        rules.extend(["--set".to_owned(), change.clone()]);
    }
    serving(rules, log)
}

fn serving(rules: Vec<String>, log: Option<PathBuf>) -> Result<Program, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::Usage(format!("cannot find this program itself: {error}")))?;
    let listen = ["--listen", "{address}"].map(str::to_owned);
    let arguments = ["serve".to_owned()].into_iter().chain(rules).chain(listen).collect();
    Ok(Program { program, arguments, log })
}
