"""Flow control in a simulated office: tasks, adaptive attacks, labelled results: `python -m bench.flow_quality`.

Every part is written by hand and scripted; no model takes part. The tools have no contract, so tiers and labels are
what the gateway infers. The calls run through flow control in this process, and through the confirmation that the
inferred contract asks for by default.
"""
