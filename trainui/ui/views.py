"""The style guide: every component on one page, with made-up content."""

from __future__ import annotations

from datetime import timedelta

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from trainui.ui import phases

_MANIFEST = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: llama3-8b-sft
  namespace: team-nlp
spec:
  runtimeRef:
    name: torch-distributed
  trainer:
    numNodes: 2
"""


class SampleForm(forms.Form):
    """One field of each kind."""

    name = forms.SlugField(help_text="At most 41 characters with this runtime, so that pod names fit.")
    nodes = forms.IntegerField(min_value=1, initial=2)
    precision = forms.ChoiceField(choices=[("bf16", "bfloat16"), ("fp32", "float32")])
    resume = forms.BooleanField(required=False, label="Resume from the last checkpoint")
    role = forms.ChoiceField(choices=[("viewer", "Viewer"), ("engineer", "Engineer")], widget=forms.RadioSelect)
    note = forms.CharField(required=False, widget=forms.Textarea, help_text="Shown on the job's page.")


def styleguide(request: HttpRequest) -> HttpResponse:
    """Show every component; only routed with DEBUG."""
    now = timezone.now()
    messages.success(request, "A message after something went well.")
    messages.error(request, "A message after something did not.")
    context = {
        "phases": list(phases.LOOKS),
        "tones": phases.TONES,
        "form": SampleForm({"name": "Llama 3", "nodes": "2", "precision": "bf16", "role": "viewer"}),
        "now": now,
        "earlier": now - timedelta(minutes=7, seconds=4),
        "yesterday": now - timedelta(days=1, hours=13),
        "manifest": _MANIFEST,
    }
    return render(request, "ui/styleguide.html", context)
