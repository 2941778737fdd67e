//! The documented defaults of every section.

use crate::{
    AffinityRule, ArrivalGroup, Basis, CapacityCheck, Costs, Dist, Dur, Duties, Fallback, Mode,
    NodeGroup, PauseDetect, Policy, PoolRule, Scenario, Scheduler, Search, SessionGroup, StoreKind,
    Swarm, WhenFull,
};

impl Default for Scenario {
    fn default() -> Self {
        Self {
            title: "untitled".into(),
            seed: 1,
            duration: Dur::from_secs(600),
            warmup: Dur::from_secs(60),
            scheduler: Scheduler::default(),
            nodes: Vec::new(),
            sessions: Vec::new(),
            arrivals: Vec::new(),
            duties: None,
            costs: Costs::default(),
            faults: Vec::new(),
            expect: Vec::new(),
            capacity: None,
            plant: None,
            swarm: None,
            variants: std::collections::BTreeMap::new(),
        }
    }
}

impl Default for Scheduler {
    fn default() -> Self {
        Self {
            preset: None,
            style: None,
            policy: Policy::SampleScan,
            sample: 5,
            fallback: Fallback::Scan,
            pool_rule: PoolRule::AsrXTts,
            pause_detect: PauseDetect::Timer,
            shard_size: 100,
            when_full: WhenFull::Refuse,
            max_wait: None,
            max_waiting: 100_000,
            capacity_check: CapacityCheck::Lease,
            instances: 1,
            store: StoreKind::Embedded,
            snapshot_age: Dur::from_secs(5),
            snapshot_incremental: true,
            affinity_rule: AffinityRule::AsDocumented,
            affinity_life: Dur::from_secs(60),
            lease: Dur::from_secs(30),
            unconfirmed: Dur::from_secs(5),
            job_timeout: Dur::from_secs(25),
            deadline: Dur::from_secs(60),
            rejoin: Dur::from_secs(5),
            answer_life: Dur::from_secs(600),
            store_timeout: Dur::from_secs(2),
            pause: Dur::from_secs(3),
            timeout: Dur::from_secs(10),
            max_duration: Dur::from_secs(20),
            max_length: 512_000,
            hangover_manual: Dur::from_millis(200),
            hangover_auto: Dur::from_millis(150),
            preferred_pool: Dur::ZERO,
            stop_at_shard_hole: false,
            stale_pool_members: false,
            missing_counter: false,
            resource_threshold: None,
        }
    }
}

impl Default for NodeGroup {
    fn default() -> Self {
        Self {
            count: 1,
            name: None,
            asr: Vec::new(),
            semantic: None,
            tts: Vec::new(),
            max_jobs: 4,
            service_time: Dist::Exponential(Dur::from_secs(1)),
            speech_factor: 0.0,
            heartbeat: Dur::from_secs(10),
            heartbeat_jitter: 0.2,
            region: None,
            features: Vec::new(),
            models: Vec::new(),
            uptime: None,
            downtime: None,
            cpu: None,
            from: None,
        }
    }
}

impl Default for SessionGroup {
    fn default() -> Self {
        let (median, p99) = (Dur::from_secs(3), Dur::from_secs(12));
        Self {
            count: None,
            rate: None,
            stay: None,
            pair: None,
            pairs: Vec::new(),
            zipf: 0.0,
            mode: Mode::OneWay,
            listeners: Vec::new(),
            utterance: Dist::Lognormal { median, p99 },
            gap: Dist::Exponential(Dur::from_secs(4)),
            manual_cut: 1.0,
            chunk: Dur::from_millis(100),
            bytes_per_ms: 32,
            reconnect: None,
            switch_language: None,
            features: Vec::new(),
            model: None,
            region: None,
        }
    }
}

impl Default for ArrivalGroup {
    fn default() -> Self {
        Self {
            rate: None,
            load: None,
            pair: None,
            pairs: Vec::new(),
            zipf: 0.0,
            features: Vec::new(),
            model: None,
            region: None,
            trace: None,
        }
    }
}

impl Default for Duties {
    fn default() -> Self {
        Self {
            count: 60,
            instances: 3,
            tolerance: None,
            tolerances: Vec::new(),
            lease: Dur::from_secs(10),
            tick: Dur::from_secs(2),
            patience: 2,
            claims_per_view: 32,
            alarm_above: None,
            run: Dist::Exponential(Dur::from_secs(10)),
            pause: Dist::Constant(Dur::from_secs(1)),
            delay: Dist::Constant(Dur::from_millis(1)),
            event_delay: None,
            event_loss: 0.0,
        }
    }
}

impl Default for Costs {
    fn default() -> Self {
        let none = Dur::ZERO;
        Self {
            basis: Basis::Assumed,
            dispatch: none,
            candidate: none,
            scan_node: none,
            heartbeat: none,
            register: none,
            chunk: none,
            result: none,
            kib: none,
            lock: none,
            statistics: none,
            model_na: none,
            store_op: none,
            store_latency: Dist::Constant(none),
            node_latency: Dist::Constant(none),
            session_latency: Dist::Constant(none),
            timer_lateness: Dist::Constant(none),
        }
    }
}

impl Default for Swarm {
    fn default() -> Self {
        Self { faults_max: 6, kinds: Vec::new(), policies: Vec::new(), instances_max: 4 }
    }
}

impl Search {
    /// Two percent.
    pub(crate) fn precision_default() -> f64 {
        0.02
    }
}
