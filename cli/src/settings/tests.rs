//! What may be set, by whom, and how it is refused.

use std::collections::BTreeSet;

use super::*;

fn taken(file: &str, environment: &[(&str, &str)], flags: &Flags) -> Result<Settings, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lingua.toml");
    std::fs::write(&path, file).unwrap();
    let environment = environment.iter().map(|&(k, v)| (k.to_owned(), v.to_owned()));
    let mut settings = Settings::default();
    let result = settings.take(Some(&path), environment, flags);
    let folder = format!("{}/", dir.path().display());
    result.map(|()| settings).map_err(|error| error.to_string().replace(&folder, ""))
}

#[test]
fn the_later_layer_wins() {
    let file = "sockets = 1\nping = \"1m\"\noutbox = 7\nlog_format = \"json\"\n";
    let environment = [("LINGUA_SOCKETS", "2"), ("LINGUA_PING", "2m"), ("HOME", "/")];
    let flags = Flags::of(&[("sockets", "3")]);
    let settings = taken(file, &environment, &flags).unwrap();
    let limits = settings.server.limits;
    assert_eq!((limits.sockets, limits.ping.as_secs(), limits.outbox), (3, 120, 7));
    let shown = settings.shown();
    for line in [
        "  sockets              3   (flag)\n",
        "  ping                 2m   (environment)\n",
        "  outbox               7   (file)\n",
        "  log_format           json   (file)\n",
        "  max_jobs             4\n",
    ] {
        assert!(shown.contains(line), "{line}{shown}");
    }
}

#[test]
fn limits_of_speech_and_what_nodes_must_have_reach_the_server() {
    let file = "require_services = true\nspeech = 4_194_304\ngoodbye = \"2s\"\n";
    let environment = [("LINGUA_SPEECH_PER_SESSION", "2_097_152")];
    let settings = taken(file, &environment, &Flags::default()).unwrap();
    let config = settings.config().unwrap();
    assert!(config.require_services && !Config::default().require_services);
    let limits = config.limits;
    assert_eq!((limits.speech, limits.speech_per_session), (4 << 20, 2 << 20));
    assert_eq!(limits.goodbye.as_secs(), 2);
    let told = taken("speech = 5\n", &[], &Flags::default()).unwrap_err();
    assert!(told.contains("speech: 5 is out of range: 1048576 to"), "{told}");
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_its_place() {
    let file = "sokets = 5\nmax_jobs = 0\nlog = \"loud\"\nping = 20\n";
    let told = taken(file, &[], &Flags::default()).unwrap_err();
    for words in [
        "lingua.toml:1:1: unknown key `sokets`; did you mean `sockets`?",
        "lingua.toml:2:12: max_jobs: 0 is out of range: 1 to 1024 are allowed",
        "lingua.toml:3:7: log: `loud` is no log level",
        "lingua.toml:4:8: ping: `20` is no duration",
    ] {
        assert!(told.contains(words), "{words}\n{told}");
    }
}

#[test]
fn what_is_wrong_elsewhere_is_told_by_name() {
    let told = |environment: &[(&str, &str)], flags: &[(&str, &str)]| {
        taken("", environment, &Flags::of(flags)).unwrap_err()
    };
    let socket = told(&[("LINGUA_SOKETS", "1")], &[]);
    assert!(socket.ends_with("LINGUA_SOKETS sets nothing; did you mean LINGUA_SOCKETS?"));
    let inbox = told(&[("LINGUA_INBOX", "many")], &[]);
    assert!(inbox.contains("LINGUA_INBOX: `many` cannot be read"), "{inbox}");
    let listen = told(&[], &[("listen", "here")]);
    assert!(listen.contains("--listen: `here` cannot be read"), "{listen}");
    let others = [("LINGUA_PORT", "tcp://10.0.0.1:5010"), ("LINGUA_SERVICE_HOST", "10.0.0.1")];
    assert!(taken("", &others, &Flags::default()).is_ok());
}

#[test]
fn a_secret_is_never_shown() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    std::fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
    let file = format!("node_token = {:?}\n", path.display().to_string());
    let settings = taken(&file, &[], &Flags::default()).unwrap();
    assert!(matches!(settings.config().unwrap().access.nodes, Rule::Token(_)));
    for text in [settings.shown(), format!("{settings:?}"), format!("{:?}", settings.config())] {
        assert!(!text.contains("0123456789abcdef"), "{text}");
    }
    let given = "node_token = \"fedcba9876543210\"\n";
    let told = [
        taken(given, &[], &Flags::default()),
        taken("", &[("LINGUA_NODE_TOKEN", "fedcba9876543210")], &Flags::default()),
        taken("", &[], &Flags::of(&[("node_token", "fedcba9876543210")])),
    ];
    for told in told.map(Result::unwrap_err) {
        assert!(told.contains("name of a file with the secret"), "{told}");
        assert!(!told.contains("fedcba"), "{told}");
    }
    for (file, place) in [
        ("node_token = fedcba9876543210\n", "lingua.toml:1:14"),
        ("sockets = 1\nnode_tokn = \"fedcba9876543210\"\n", "lingua.toml:2:1"),
    ] {
        let told = taken(file, &[], &Flags::default()).unwrap_err();
        assert!(told.contains(place) && !told.contains("fedcba"), "{told}");
    }
    let both = format!("{file}node_jwt_key = {:?}\n", path.display().to_string());
    let settings = taken(&both, &[], &Flags::default()).unwrap();
    let told = settings.config().unwrap_err().to_string();
    assert!(told.contains("node_token and node_jwt_key are both set"), "{told}");
}

#[test]
fn an_address_with_a_password_is_never_shown() {
    let file = "redis = \"redis://user:hunter2@a:1,redis://:hunter2@b:2\"\n";
    let settings = taken(file, &[], &Flags::default()).unwrap();
    assert_eq!(settings.config().unwrap().redis.addresses.len(), 2);
    for text in [settings.shown(), format!("{settings:?}"), format!("{:?}", settings.config())] {
        assert!(text.contains("redis://…@a:1") && !text.contains("hunter2"), "{text}");
    }
    for flags in [[("redis", "user:hunter2@a:1")], [("redis", "redis://a:1,hunter2")]] {
        let told = taken("", &[], &Flags::of(&flags)).unwrap_err();
        assert!(told.contains("--redis: write redis://host:port"), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}

#[test]
fn a_zookeeper_for_the_duties_is_read_at_the_door() {
    let redis = ("redis", "redis://127.0.0.1:6379");
    let place = ("duty_zookeeper", "a:2181,b:2181/lingua/duties");
    let settings = taken("", &[], &Flags::of(&[redis, place])).unwrap();
    let duties = settings.config().unwrap().redis.duties;
    assert_eq!(duties.zookeeper.unwrap().root(), "/lingua/duties");
    for (value, words) in [
        ("", "servers \"\" of ZooKeeper: give host:port"),
        ("zk", "servers \"zk\" of ZooKeeper: give host:port"),
        ("zk:2181/", "root \"/\" at ZooKeeper: give an absolute path such as /lingua/v1/duties"),
        ("zk:2181/a/../b", "root \"/a/../b\" at ZooKeeper: give an absolute path"),
        ("me:hunter2@zk:2181", "without user and password"),
    ] {
        let told = taken("", &[], &Flags::of(&[("duty_zookeeper", value)])).unwrap_err();
        assert!(told.contains("--duty-zookeeper: ") && told.contains(words), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
    let told = taken("", &[], &Flags::of(&[place])).unwrap().config().unwrap_err().to_string();
    assert!(told.contains("duty_zookeeper a:2181,b:2181/lingua/duties: without Redis"), "{told}");

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("login");
    std::fs::write(&path, "lingua:hunter2\n").unwrap();
    let path = path.display().to_string();
    let login = ("duty_zookeeper_login", path.as_str());
    let told = taken("", &[], &Flags::of(&[redis, login])).unwrap().config().unwrap_err();
    assert!(told.to_string().contains("add --duty-zookeeper HOST:PORT"), "{told}");
    let settings = taken("", &[], &Flags::of(&[redis, place, login])).unwrap();
    assert!(settings.config().unwrap().redis.duties.zookeeper_login.is_some());
    for text in [settings.shown(), format!("{settings:?}"), format!("{:?}", settings.config())] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    std::fs::write(&path, "hunter2\n").unwrap();
    let told = taken("", &[], &Flags::of(&[login])).unwrap_err();
    assert!(told.contains("give user:password") && !told.contains("hunter2"), "{told}");
}

#[test]
fn defaults_are_within_their_ranges_and_names_are_unique() {
    let names: BTreeSet<_> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names.len(), KEYS.len());
    let mut settings = Settings::default();
    for key in KEYS {
        let shown = (key.shown)(&settings);
        if shown != "none" {
            (key.set)(&mut settings, &shown).unwrap();
        }
    }
}

#[test]
fn the_reference_names_every_key() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/serve.md");
    let page = std::fs::read_to_string(path).unwrap();
    let defaults = Settings::default();
    for key in KEYS {
        let row = format!("| `{}` | {} |", key.name, (key.shown)(&defaults));
        assert!(page.contains(&row), "docs/serve.md lacks the row: {row}");
    }
}
