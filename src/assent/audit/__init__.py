"""Can a stranger verify what happened, without trusting us?"""
