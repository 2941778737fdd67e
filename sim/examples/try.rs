//! Temporary.
fn main() {
    use std::str::FromStr;
    let a: Vec<String> = std::env::args().collect();
    let s = lingua_scenarios::Scenario::from_str(&std::fs::read_to_string(&a[1]).expect("f"))
        .expect("p");
    let n: u64 = a.get(2).map_or(1, |x| x.parse().expect("n"));
    for seed in 1..=n {
        let mut sc = lingua_sim::swarm::draw(&s, seed);
        sc.seed = seed;
        let t = std::time::Instant::now();
        let f = lingua_sim::simulate(&sc, "x", &mut lingua_sim::Quiet).expect("sim");
        let r = &f.artifacts.run;
        let w = t.elapsed().as_secs_f64();
        if n == 1 {
            println!("{:#?}", r);
        } else if f.broken.is_some() {
            println!("{seed} {:?} {:?}", r.setting, r.reasons);
            for x in &sc.faults {
                println!("   {:?}", x)
            }
        }
        if n == 1 {
            println!(
                "jobs {:?} bal {} wall {w:.2} ev/s {:.2}M ns/job {:.0}",
                r.jobs,
                r.jobs.balance(),
                r.events as f64 / w / 1e6,
                w * 1e9 / r.jobs.offered as f64
            );
        }
    }
}
