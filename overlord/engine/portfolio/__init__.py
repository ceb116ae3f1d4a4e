"""The portfolio at work: cycles, leads, tasks that become issues and jobs, escalations, files that people edit."""
