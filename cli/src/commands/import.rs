//! `lingua import`: a recorded wire exchange as CSV files and a scenario.

use std::fs::File;
use std::io::BufReader;

use crate::args::Import;
use crate::failure::{Code, Failure, print, tell};

pub(crate) fn run(args: &Import) -> Result<Code, Failure> {
    let wrong = |path: &std::path::Path, error: std::io::Error| {
        Failure::Usage(format!("{}: {error}", path.display()))
    };
    let file = File::open(&args.file).map_err(|error| wrong(&args.file, error))?;
    let imported =
        lingua_scenarios::import(BufReader::new(file)).map_err(|error| wrong(&args.file, error))?;
    for note in &imported.notes {
        tell(&format!("note: {note}"));
    }
    if imported.calls == 0 || imported.nodes == 0 {
        return Err(Failure::Usage(format!(
            "{}: {} calls and {} nodes in it; a scenario needs both",
            args.file.display(),
            imported.calls,
            imported.nodes
        )));
    }
    std::fs::create_dir_all(&args.out).map_err(|error| wrong(&args.out, error))?;
    for (name, text) in [
        ("calls.csv", &imported.calls_csv),
        ("nodes.csv", &imported.nodes_csv),
        ("scenario.toml", &imported.scenario_toml),
    ] {
        let path = args.out.join(name);
        std::fs::write(&path, text).map_err(|error| wrong(&path, error))?;
    }
    print(&format!(
        "{} calls, {} nodes: {}\nnext: lingua sim {}\n",
        imported.calls,
        imported.nodes,
        args.out.display(),
        args.out.join("scenario.toml").display()
    ))?;
    Ok(Code::Fine)
}
