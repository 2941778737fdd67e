//! Time per operation of every subject.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use lingua_benches::subjects::ALL;

fn speed(criterion: &mut Criterion) {
    for entry in ALL {
        criterion.bench_function(entry.name, |bencher| {
            let mut subject = entry.prepare();
            bencher.iter_custom(|operations| {
                let per_run = entry.operations;
                let runs = operations.div_ceil(per_run);
                let mut spent = Duration::ZERO;
                for _ in 0..runs {
                    subject.restore();
                    let started = Instant::now();
                    black_box(subject.run());
                    spent += started.elapsed();
                }
                spent.mul_f64(operations as f64 / (runs * per_run) as f64)
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(4));
    targets = speed
}
criterion_main!(benches);
