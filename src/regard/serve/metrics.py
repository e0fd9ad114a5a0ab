"""Prometheus metrics of the server. No label contains client input."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
ANSWER_SECONDS = (0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 5, 10, 30)


class Metrics:
    """The metrics of one server, in a registry of its own, so that two servers in one process stay separate."""

    def __init__(self) -> None:
        own = self.registry = CollectorRegistry()
        self.requests = Counter("regard_requests", "Requests answered", ["route", "status"], registry=own)
        self.seconds = Histogram(
            "regard_request_seconds",
            "Time from a request's head to its answer",
            ["route"],
            buckets=SECONDS,
            registry=own,
        )
        self.translated_seconds = Histogram(
            "regard_translated_seconds",
            "Time from a request's head to its translation",
            buckets=ANSWER_SECONDS,
            registry=own,
        )
        self.at_work = Gauge("regard_requests_at_work", "Requests under way", registry=own)
        self.loop_delay = Gauge("regard_loop_delay_seconds", "How late the event loop is", registry=own)
        self.queue_tokens = Gauge("regard_queue_tokens", "Source tokens that wait", registry=own)
        self.batch_sentences = Histogram(
            "regard_batch_sentences", "Sentences searched together", buckets=SIZES, registry=own
        )
        self.batch_requests = Histogram(
            "regard_batch_requests", "Requests whose sentences were searched together", buckets=SIZES, registry=own
        )
        self.tokens = Counter("regard_source_tokens", "Source tokens searched", registry=own)
        self.dropped = Counter("regard_dropped_sentences", "Sentences nobody waited for any longer", registry=own)
        self.refused = Counter("regard_refused", "Requests refused, by reason", ["reason"], registry=own)
        self.cached = Counter("regard_cached_sentences", "Sentences found in the cache or not", ["found"], registry=own)
        self.models = Gauge("regard_models_loaded", "Models in memory", registry=own)
        self.loads = Counter("regard_model_loads", "Models read from disk", registry=own)

    def text(self) -> bytes:
        return generate_latest(self.registry)
