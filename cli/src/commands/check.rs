//! `lingua check` and `lingua schema`.

use crate::args::File;
use crate::failure::{Code, Failure, print, tell};

pub(crate) fn run(args: &File) -> Result<Code, Failure> {
    let loaded = args.load()?;
    let variants = loaded.variants()?;
    let scenario = &loaded.scenario;
    let nodes: u64 = scenario.nodes.iter().map(|group| u64::from(group.count)).sum();
    let slots: u64 =
        scenario.nodes.iter().map(|g| u64::from(g.count) * u64::from(g.max_jobs)).sum();
    for warning in &loaded.warnings {
        tell(&format!("warning: {warning}"));
    }
    if let Some(duties) = &scenario.duties {
        return print(&format!(
            "{} is fine: {} duties, {} instances, {} faults, {} variants\n",
            args.file.display(),
            duties.count,
            scenario.instances(),
            scenario.faults.len(),
            variants.len()
        ))
        .map(|()| Code::Fine);
    }
    print(&format!(
        "{} is fine: {nodes} nodes, {slots} slots, {} session groups, {} arrival groups, \
         {} faults, {} variants\n",
        args.file.display(),
        scenario.sessions.len(),
        scenario.arrivals.len(),
        scenario.faults.len(),
        variants.len()
    ))?;
    Ok(Code::Fine)
}

pub(crate) fn schema() -> Result<Code, Failure> {
    let schema = lingua_scenarios::schema();
    let text =
        serde_json::to_string_pretty(&schema).map_err(|error| Failure::Usage(error.to_string()))?;
    print(&(text + "\n"))?;
    Ok(Code::Fine)
}
